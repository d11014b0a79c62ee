#include "load.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "families.hpp"
#include "machine.hpp"
#include "refuse.hpp"

namespace tutti::inline v0 {
namespace {

constexpr const char* kMachine = "machine";  // the own host, in place of a family

/// Hosts and switches of families have numbers.
NamedTopology named(Topology topology) {
  std::vector<std::string> names;
  for (int host = 0; host < topology.hosts(); ++host) names.push_back("h" + std::to_string(host));
  for (int one = 0; one < topology.switches(); ++one) names.push_back("s" + std::to_string(one));
  return {std::move(topology), std::move(names)};
}

}  // namespace

NetworkText find_network(const std::string& network) {
  std::error_code ignored;
  if (network.find('/') == std::string::npos && !std::filesystem::is_regular_file(network, ignored))
    return {.origin = network};
  std::ifstream file{network, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) refuse_network(network + ": cannot be read");
  return {.origin = network, .content = text.str(), .is_file = true};
}

std::vector<NamedTopology> read_networks(const NetworkText& text) {
  if (!text.is_file)
    return {text.origin == kMachine ? machine_topology() : named(parse_topology(text.origin))};
  const std::size_t first = text.content.find_first_not_of(" \t\r\n");
  try {
    if (first != std::string::npos && text.content[first] == '{')
      return {read_json_topology(text.content)};
    return read_slurm_topology(text.content);
  } catch (const Error& error) {
    refuse_network(text.origin + ": " + error.what());
  }
}

NamedTopology read_network(const NetworkText& text) {
  std::vector<NamedTopology> networks = read_networks(text);
  if (networks.size() > 1)
    refuse_network(text.origin + ": no link joins hosts " + networks[0].names[0] + " and " +
                   networks[1].names[0] + ", which are in two of " +
                   std::to_string(networks.size()) + " trees: expected a file of one tree");
  return std::move(networks.front());
}

}  // namespace tutti::inline v0
