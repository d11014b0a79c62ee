#include "load.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/number_text.hpp"
#include "base/text_file.hpp"
#include "families.hpp"
#include "machine.hpp"
#include "reject_network.hpp"

namespace tutti::v0 {
namespace {

constexpr const char* kMachine = "machine";  // this host, instead of a family

/// Names hosts and switches of a family by numbers.
NamedTopology named(Topology topology) {
  std::vector<std::string> names;
  for (int host = 0; host < topology.hosts(); ++host) names.push_back("h" + std::to_string(host));
  for (int one = 0; one < topology.switches(); ++one) names.push_back("s" + std::to_string(one));
  return {std::move(topology), std::move(names)};
}

/// Whether a text contains SwitchName, in any case, as a topology.conf does.
bool has_switch_name(std::string_view text) {
  constexpr std::string_view kWord = "switchname";
  const auto is_letter = [](char a, char b) { return detail::lower_case(a) == b; };
  return std::search(text.begin(), text.end(), kWord.begin(), kWord.end(), is_letter) != text.end();
}

}  // namespace

NetworkText find_network(const std::string& network) {
  std::error_code ignored;
  const bool is_file =
      network.find('/') != std::string::npos || (std::filesystem::exists(network, ignored) &&
                                                 !std::filesystem::is_directory(network, ignored));
  if (!is_file && (network == kMachine || is_family(network.substr(0, network.find(':')))))
    return {.origin = network};
  if (!is_file)
    reject_network(network + ": no such file, and not a network: known are " + kMachine + " and " +
                   family_names());
  return {.origin = network, .content = detail::read_text_file(network), .is_file = true};
}

std::vector<NamedTopology> read_networks(const NetworkText& text) {
  if (!text.is_file)
    return {text.origin == kMachine ? machine_topology() : named(parse_topology(text.origin))};
  const std::size_t first = text.content.find_first_not_of(" \t\r\n");
  try {
    if (first != std::string::npos && text.content[first] == '{')
      return {read_json_topology(text.content)};
    if (!has_switch_name(text.content))
      reject_network(
          "it is not a network: known are JSON with \"hosts\" and \"links\", and SLURM's "
          "topology.conf with lines of SwitchName");
    return read_slurm_topology(text.content);
  } catch (const Error& error) {
    reject_network(text.origin + ": " + error.what());
  }
}

NamedTopology read_network(const NetworkText& text) {
  std::vector<NamedTopology> networks = read_networks(text);
  if (networks.size() > 1)
    reject_network(text.origin + ": no link joins hosts " + networks[0].names[0] + " and " +
                   networks[1].names[0] + ", which are in two of " +
                   std::to_string(networks.size()) + " trees: expected a file of one tree");
  return std::move(networks.front());
}

}  // namespace tutti::v0
