#include "topology.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();

[[noreturn]] void reject(const std::string& name, const std::string& what) {
  throw Error{ErrorCode::invalid_argument, "network " + name + ": " + what};
}

std::string words_of(int vertex, int hosts) {
  if (vertex < hosts) return "host " + std::to_string(vertex);
  return "switch " + std::to_string(vertex - hosts);
}

}  // namespace

Topology::Topology(std::string name, int hosts, int switches, std::vector<Link> links,
                   TopologyFacts facts)
    : name_{std::move(name)}, hosts_{hosts}, links_{std::move(links)}, facts_{std::move(facts)} {
  if (hosts < 1) reject(name_, "it has no hosts");
  if (switches < 0 || hosts > kMost - switches)
    reject(name_, "it has too many hosts and switches; expected at most " + std::to_string(kMost));
  if (links_.size() > kMost)
    reject(name_, "it has " + std::to_string(links_.size()) + " links; expected at most " +
                      std::to_string(kMost));
  for (const Level& level : facts_.levels)
    if (level.part_of.size() != static_cast<std::size_t>(hosts))
      reject(name_, "level '" + level.name + "' has parts for " +
                        std::to_string(level.part_of.size()) + " hosts of " +
                        std::to_string(hosts));
  const int vertices = hosts + switches;
  first_.assign(static_cast<std::size_t>(vertices) + 1, 0);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    for (const int end : {link.a, link.b}) {
      if (end < 0 || end >= vertices)
        reject(name_, "link " + std::to_string(i) + " ends at vertex " + std::to_string(end) +
                          " of " + std::to_string(vertices));
      ++first_[static_cast<std::size_t>(end) + 1];
    }
    if (link.a == link.b)
      reject(name_,
             "link " + std::to_string(i) + " leads from " + words_of(link.a, hosts) + " to itself");
    if (link.speed.latency < 0 || link.speed.per_byte < 0)
      reject(name_, "link " + std::to_string(i) + " has a negative latency or cost");
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  hops_.resize(2 * links_.size());
  std::vector<std::size_t> next = first_;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto [a, b, speed] = links_[i];
    hops_[next[static_cast<std::size_t>(a)]++] = {b, static_cast<int>(i)};
    hops_[next[static_cast<std::size_t>(b)]++] = {a, static_cast<int>(i)};
  }
  const std::vector<std::uint16_t> reached = distances(0);
  const auto lost = std::ranges::find(reached, kFar);
  if (lost != reached.end())
    reject(name_, words_of(static_cast<int>(lost - reached.begin()), hosts) +
                      " is not connected to host 0");
}

std::vector<std::uint16_t> Topology::distances(int vertex) const {
  std::vector<std::uint16_t> distances(static_cast<std::size_t>(vertices()), kFar);
  std::vector<int> order{vertex};
  distances[static_cast<std::size_t>(vertex)] = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const Hop& hop : hops(order[i])) {
      std::uint16_t& distance = distances[static_cast<std::size_t>(hop.to)];
      if (distance != kFar) continue;
      distance = static_cast<std::uint16_t>(distances[static_cast<std::size_t>(order[i])] + 1);
      order.push_back(hop.to);
    }
  return distances;
}

PartSizes part_sizes(const Level& level) {
  std::map<int, int> sizes;
  for (const int part : level.part_of) ++sizes[part];
  const auto smaller = [](const auto& one, const auto& other) { return one.second < other.second; };
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end(), smaller);
  return {sizes.size(), least->second, most->second};
}

}  // namespace tutti::v0
