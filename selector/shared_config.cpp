#include "shared_config.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <tutti/error.hpp>

#include "cost_models.hpp"
#include "topology/families.hpp"
#include "topology/gpus.hpp"
#include "topology/placed.hpp"

namespace tutti::v0::detail {
namespace {

/// The most entries of a cache, since a program may make groups without end.
constexpr std::size_t kMostKept = std::size_t{1} << 14;

/// Finds or makes an entry. It makes the entry outside of the lock, since profiling may take long;
/// two threads that make the same entry make equal ones.
template <class Map, class Key, class Make>
auto find_or_make(std::mutex& mutex, Map& map, const Key& key, const Make& make) {
  {
    const std::lock_guard lock{mutex};
    if (const auto found = map.find(key); found != map.end()) return found->second;
  }
  auto made = make();
  const std::lock_guard lock{mutex};
  if (map.size() >= kMostKept) map.clear();
  map.emplace(key, made);
  return made;
}

/// A host's name up to the first dot.
std::string short_name(const std::string& name) {
  return name.substr(0, name.find('.'));
}

std::string some_of(const std::vector<std::string>& names, std::size_t count) {
  constexpr std::size_t kMostNamed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(count, kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return text + (count > kMostNamed ? ", ..." : "");
}

/// Hosts of a network by their names, as a whole and up to the first dot.
class HostNames {
 public:
  explicit HostNames(const NamedTopology& network) {
    const auto count = static_cast<std::size_t>(network.topology.hosts());
    for (std::size_t i = 0; i < count; ++i) {
      known_.emplace(network.names[i], static_cast<int>(i));
      known_.emplace(short_name(network.names[i]), static_cast<int>(i));
    }
  }
  [[nodiscard]] std::optional<int> find(const std::string& name) const {
    auto found = known_.find(name);
    if (found == known_.end()) found = known_.find(short_name(name));
    return found == known_.end() ? std::nullopt : std::optional{found->second};
  }

 private:
  std::map<std::string, int> known_{};
};

using NumberedHosts = std::vector<std::pair<int, std::string>>;

[[noreturn]] void reject_unknown(const std::string& origin, const std::string& name,
                                 const std::vector<NamedTopology>& networks) {
  std::vector<std::string> names;
  for (const auto& [topology, all] : networks)
    names.insert(names.end(), all.begin(), all.begin() + topology.hosts());
  throw Error{ErrorCode::invalid_argument, origin + ": there is no host " + name +
                                               " in that network, only " +
                                               some_of(names, names.size())};
}

/// @return the index of the network that has all hosts.
std::size_t network_of_hosts(const std::string& origin, const std::vector<NamedTopology>& networks,
                             const NumberedHosts& hosts) {
  std::vector<HostNames> names;
  for (const NamedTopology& network : networks) names.emplace_back(network);
  std::optional<std::size_t> chosen;
  for (const auto& [number, name] : hosts) {
    const auto has_host = [&host = name](const HostNames& one) {
      return one.find(host).has_value();
    };
    const auto found = std::ranges::find_if(names, has_host);
    if (found == names.end()) reject_unknown(origin, name, networks);
    const auto at = static_cast<std::size_t>(found - names.begin());
    if (!chosen) chosen = at;
    if (*chosen != at)
      throw Error{ErrorCode::invalid_argument,
                  origin + ": no link joins hosts " + hosts.front().second + " and " + name +
                      ", which are in two trees of that network: expected a job within one tree"};
  }
  return chosen.value_or(0);
}

std::map<int, int> places_by_name(const std::string& origin,
                                  const std::vector<NamedTopology>& networks,
                                  const NamedTopology& network, const NumberedHosts& hosts) {
  const HostNames names{network};
  std::map<int, int> places;
  std::map<int, std::string> taken;
  for (const auto& [number, name] : hosts) {
    const std::optional<int> place = names.find(name);
    if (!place) reject_unknown(origin, name, networks);
    places.emplace(number, *place);
    const auto [other, is_first] = taken.emplace(*place, name);
    if (!is_first && other->second != name)
      throw Error{ErrorCode::invalid_argument,
                  origin + ": hosts " + other->second + " and " + name + " are both " +
                      network.names[static_cast<std::size_t>(*place)] + " of that network"};
  }
  return places;
}

/// The network if none is described. Half the cost of a message inside a host occupies its sender.
/// The additional cost of a message between hosts occupies their links, and the rest of it is
/// latency.
RankNetwork on_one_switch(const PlacedCosts& costs, int hosts) {
  const LinkCosts &between = costs.between, &inside = costs.inside;
  const Femtoseconds rest = std::max<Femtoseconds>(between.alpha - inside.alpha, 0);
  const Femtoseconds handled =
      std::min(rest, inside.shared_cores > 0 ? kCrowdedMessageOnLink : kMessageOnLink);
  const LinkSpeed wire{
      .latency = (rest - handled) / 2, .per_byte = between.beta, .per_message = handled};
  return {.topology = single_switch(hosts, wire)};
}

RankNetwork on_rails(const PlacedCosts& costs) {
  const GpuSpeeds speeds =
      gpu_speeds(costs.inside, costs.across.value_or(costs.inside), costs.between);
  return {.topology = gpu_network("gpus", costs.hosts, costs.localities, speeds)};
}

}  // namespace

Profile Profiles::find(const Choice& choice, const Contract& contract) {
  return find_or_make(mutex_, profiles_,
                      Key{choice.algorithm, choice.text(), contract.size, contract.root},
                      [&] { return profile_of(choice, contract.size, contract.root); });
}

NetworkProfile Profiles::find(const Choice& choice, const Contract& contract,
                              const std::shared_ptr<const RankNetwork>& network) {
  return find_or_make(
      mutex_, on_networks_,
      NetworkKey{network, Key{choice.algorithm, choice.text(), contract.size, contract.root}},
      [&] { return profile_on(choice, contract.size, contract.root, *network); });
}

HostNetwork find_hosts(std::string origin, std::vector<NamedTopology> networks, bool has_names,
                       const std::vector<std::pair<int, std::string>>& hosts) {
  const std::size_t chosen = networks.size() == 1 ? 0 : network_of_hosts(origin, networks, hosts);
  NamedTopology& network = networks[chosen];
  const auto is_host = [](const Level& level) { return level.name == kHostLevel; };
  if (std::ranges::any_of(network.topology.levels(), is_host))
    throw Error{
        ErrorCode::invalid_argument,
        origin + " is a network of GPUs, several of which are a host; expected one of hosts"};
  std::map<int, int> places;
  if (has_names) {
    places = places_by_name(origin, networks, network, hosts);
  } else {
    for (const auto& [number, name] : hosts)
      places.emplace(number, static_cast<int>(places.size()));
    if (static_cast<int>(places.size()) > network.topology.hosts())
      throw Error{ErrorCode::invalid_argument,
                  origin + " has places for " + std::to_string(network.topology.hosts()) +
                      " hosts, and the ranks are on " + std::to_string(places.size())};
  }
  return {std::move(origin), std::move(network.topology), std::move(places)};
}

/// Places ranks on the hosts of a network, which they may share.
RankNetwork SharedConfig::on_hosts_of(const PlacedCosts& costs) const {
  std::vector<int> places;
  for (const int host : costs.hosts) places.push_back(network ? network->places.at(host) : host);
  const std::set<int> hosts(places.begin(), places.end());  // some may be one
  const LinkCosts& inside = costs.inside;
  const LinkSpeed memory{.latency = inside.alpha / 4,
                         .per_byte = inside.half_duplex ? 2 * inside.beta : inside.beta};
  RankNetwork made = network ? RankNetwork{.topology = network->topology}
                             : on_one_switch(costs, static_cast<int>(hosts.size()));
  made.endpoints = {.message = inside.alpha / 2, .reduced = costs.between.gamma};
  made.topology = hosts.size() == costs.hosts.size()
                      ? with_hosts_in_order(made.topology, places)
                      : place_ranks(made.topology, places, memory, costs.localities);
  return made;
}

std::shared_ptr<const RankNetwork> SharedConfig::network_of(const PlacedCosts& costs) const {
  const std::lock_guard lock{networks_->mutex};
  for (const auto& [other, made] : networks_->made)
    if (other == costs) return made;
  if (networks_->made.size() >= kMostKept) networks_->made.clear();
  auto kept = std::make_shared<const RankNetwork>(
      !network && are_on_rails(costs.localities) ? on_rails(costs) : on_hosts_of(costs));
  networks_->made.emplace_back(costs, kept);
  return kept;
}

}  // namespace tutti::v0::detail
