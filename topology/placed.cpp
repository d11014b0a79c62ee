#include "placed.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "machine.hpp"

namespace tutti::v0 {
namespace {

void require_host(const Topology& network, std::size_t rank, int host) {
  if (host >= 0 && host < network.hosts()) return;
  throw Error{ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " is on host " +
                                               std::to_string(host) + " of network " +
                                               network.name() + ", which has " +
                                               std::to_string(network.hosts()) + " hosts"};
}

/// The facts about a network, with the ranks in place of the hosts that they run on.
TopologyFacts facts_at(const Topology& network, std::span<const int> host_of) {
  TopologyFacts facts = network.facts();
  facts.grid.reset();
  for (std::size_t i = 0; i < facts.levels.size(); ++i) {
    std::vector<int>& parts = facts.levels[i].part_of;
    parts.clear();
    for (const int host : host_of)
      parts.push_back(network.levels()[i].part_of[static_cast<std::size_t>(host)]);
  }
  return facts;
}

/// A part of a host: the host, and the package and cache if known.
using HostPart = std::array<int, 3>;

/// The parts of hosts that become vertices: those of hosts with several parts.
class HostParts {
 public:
  HostParts(std::span<const int> host_of, std::span<const Locality> localities) {
    for (std::size_t rank = 0; rank < localities.size(); ++rank) {
      const Locality& at = localities[rank];
      if (at.package >= 0) packages_[host_of[rank]].insert(at.package);
      if (at.cache >= 0) caches_[{host_of[rank], at.package}].insert(at.cache);
    }
  }
  /// The parts that contain a rank, innermost first, with the level of each part's own link.
  [[nodiscard]] std::vector<std::pair<HostPart, int>> around(int host, const Locality& at) const {
    std::vector<std::pair<HostPart, int>> parts;
    if (at.cache >= 0 && caches_.at({host, at.package}).size() > 1)
      parts.push_back({{host, at.package, at.cache}, 1});
    if (at.package >= 0 && packages_.at(host).size() > 1)
      parts.push_back({{host, at.package, -1}, 2});
    return parts;
  }

 private:
  std::map<int, std::set<int>> packages_{};
  std::map<std::pair<int, int>, std::set<int>> caches_{};
};

}  // namespace

Topology place_ranks(const Topology& network, std::span<const int> host_of, const LinkSpeed& inside,
                     std::span<const Locality> localities) {
  const int ranks = static_cast<int>(host_of.size());
  const HostParts parts{host_of, localities};
  int vertices = ranks + network.vertices();
  std::map<HostPart, int> vertex_of;
  std::vector<Topology::Link> links;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    const int host = host_of[rank];
    require_host(network, rank, host);
    int below = static_cast<int>(rank);
    LinkSpeed speed = inside;
    bool is_linked = false;
    const Locality at = rank < localities.size() ? localities[rank] : Locality{};
    for (const auto& [part, level] : parts.around(host, at)) {
      const auto [found, is_new] = vertex_of.try_emplace(part, vertices);
      if (is_new) ++vertices;
      links.push_back({below, found->second, speed});
      is_linked = !is_new;  // its outer parts are linked already
      if (is_linked) break;
      below = found->second;
      speed = speed_of_level(level);
    }
    if (!is_linked) links.push_back({below, ranks + host, speed});
  }
  for (const Topology::Link& link : network.links())
    links.push_back({ranks + link.a, ranks + link.b, link.speed});
  // A message to a host that is not a vertex of the grid has two hops after the grid.
  TopologyFacts facts = facts_at(network, host_of);
  facts.grid = network.switches() == 0 ? network.grid() : std::nullopt;
  if (facts.grid) facts.grid->first += ranks;
  return {network.name() + " with " + std::to_string(ranks) + " ranks", ranks, vertices - ranks,
          std::move(links), std::move(facts)};
}

Topology with_hosts_in_order(const Topology& network, std::span<const int> host_of) {
  const auto ranks = static_cast<int>(host_of.size());
  std::vector<int> number(static_cast<std::size_t>(network.vertices()), -1);
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    require_host(network, rank, host_of[rank]);
    int& at = number[static_cast<std::size_t>(host_of[rank])];
    if (at >= 0)
      throw Error{ErrorCode::invalid_argument, "ranks " + std::to_string(at) + " and " +
                                                   std::to_string(rank) + " are both on host " +
                                                   std::to_string(host_of[rank])};
    at = static_cast<int>(rank);
  }
  int next = ranks;
  for (int& at : number)
    if (at < 0) at = next++;
  std::vector<Topology::Link> links = network.links();
  for (Topology::Link& link : links) {
    link.a = number[static_cast<std::size_t>(link.a)];
    link.b = number[static_cast<std::size_t>(link.b)];
  }
  return {network.name(), ranks, network.vertices() - ranks, std::move(links),
          facts_at(network, host_of)};
}

}  // namespace tutti::v0
