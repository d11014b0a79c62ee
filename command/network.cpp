#include "command/network.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include <tutti/error.hpp>

#include "perf/failure.hpp"
#include "topology/load.hpp"
#include "topology/placed.hpp"

namespace tutti::command {
namespace {

/// Assumed speed between ranks of one host: 10 GB/s.
constexpr LinkSpeed kMemory{.latency = 150'000'000, .per_byte = 100'000};

double nanoseconds_per_message(const LinkSpeed& speed) {
  return static_cast<double>(speed.per_message) / 1e6;
}

/// The names of the hosts of each part.
nlohmann::ordered_json parts_json(const Level& level, const NamedTopology& network) {
  std::map<int, std::vector<std::string>> parts;
  for (std::size_t host = 0; host < level.part_of.size(); ++host)
    parts[level.part_of[host]].push_back(network.names[host]);
  auto json = nlohmann::ordered_json::array();
  for (const auto& [part, names] : parts) json.push_back(names);
  return json;
}

}  // namespace

NamedTopology described_network(const std::string& text) try {
  return read_network(find_network(text));
} catch (const Error& error) {
  throw perf::Failure{perf::ExitCode::usage, error.what()};
}

double nanoseconds(const LinkSpeed& speed) {
  return static_cast<double>(speed.latency) / 1e6;
}

double gbit_per_second(const LinkSpeed& speed) {
  return speed.per_byte == 0 ? 1e9 : 8e6 / static_cast<double>(speed.per_byte);
}

nlohmann::ordered_json network_json(const NamedTopology& network) {
  const Topology& topology = network.topology;
  const auto hosts = network.names.begin() + topology.hosts();
  nlohmann::ordered_json json{{"name", topology.name()},
                              {"hosts", std::vector(network.names.begin(), hosts)},
                              {"switches", std::vector(hosts, network.names.end())},
                              {"links", nlohmann::ordered_json::array()}};
  if (topology.endpoints() != EndpointCosts{}) {
    json["message_ns"] = static_cast<double>(topology.endpoints().message) / 1e6;
    const Femtoseconds reduced = topology.endpoints().reduced;
    json["reduce_gb_per_s"] = reduced == 0 ? 1e9 : 1e6 / static_cast<double>(reduced);
  }
  if (!topology.assumed().empty()) json["assumed"] = topology.assumed();
  for (const Level& level : topology.levels())
    json["levels"].push_back({{"name", level.name}, {"parts", parts_json(level, network)}});
  for (const Topology::Link& link : topology.links())
    json["links"].push_back({{"from", network.names[static_cast<std::size_t>(link.a)]},
                             {"to", network.names[static_cast<std::size_t>(link.b)]},
                             {"latency_ns", nanoseconds(link.speed)},
                             {"per_message_ns", nanoseconds_per_message(link.speed)},
                             {"gbit_per_s", gbit_per_second(link.speed)}});
  return json;
}

std::vector<int> hosts_filled(int ranks, int per_host) {
  std::vector<int> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / per_host);
  return hosts;
}

NamedTopology with_ranks(NamedTopology network, int ranks, int per_host) {
  if (per_host == 1) return network;
  std::vector<std::string> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back("r" + std::to_string(rank));
  names.insert(names.end(), network.names.begin(), network.names.end());
  return {place_ranks(network.topology, hosts_filled(ranks, per_host), kMemory), std::move(names)};
}

}  // namespace tutti::command
