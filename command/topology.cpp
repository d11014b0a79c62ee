// tutti topology: describes a network of a family or a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tutti/error.hpp>
#include <vector>

#include "base/json_text.hpp"
#include "command/commands.hpp"
#include "command/network.hpp"
#include "perf/command_line.hpp"
#include "perf/exit_code.hpp"

namespace tutti::command {
namespace {

/// Most hosts whose routes are measured.
constexpr int kMostMeasured = 512;

struct TopologyFlags {
  std::string network;
  std::string format = "text";
  std::string output;
};

std::string links_of(const Topology& topology) {
  std::map<std::pair<Femtoseconds, Femtoseconds>, int> kinds;
  for (const Topology::Link& link : topology.links())
    ++kinds[{link.speed.per_byte, link.speed.latency}];
  std::string text;
  for (const auto& [kind, count] : kinds) {
    const LinkSpeed speed{kind.second, kind.first};
    text += fmt::format("{:<10}{} of {:.4g} Gbit/s and {:.4g} ns\n", text.empty() ? "links" : "",
                        count, gbit_per_second(speed), nanoseconds(speed));
  }
  return text;
}

std::string ports_of(const Topology& topology) {
  std::size_t fewest = ~std::size_t{0}, most = 0;
  for (int vertex = topology.hosts(); vertex < topology.vertices(); ++vertex) {
    fewest = std::min(fewest, topology.hops(vertex).size());
    most = std::max(most, topology.hops(vertex).size());
  }
  if (most == 0) return "";
  const std::string least = fewest == most ? "" : fmt::format("{} to ", fewest);
  return fmt::format(" of {}{} ports", least, most);
}

/// Measures routes from all hosts, or from kMostMeasured hosts that are spread evenly.
std::string ways_of(const Topology& topology) {
  const int hosts = topology.hosts();
  const int measured = std::min(hosts, kMostMeasured);
  std::int64_t sum = 0;
  int longest = 0;
  for (int i = 0; i < measured; ++i) {
    const auto from = static_cast<int>(std::int64_t{i} * hosts / measured);
    const std::vector<std::uint16_t> distances = topology.distances(from);
    for (int to = 0; to < hosts; ++to) {
      sum += distances[static_cast<std::size_t>(to)];
      longest = std::max<int>(longest, distances[static_cast<std::size_t>(to)]);
    }
  }
  if (hosts == 1) return "";
  const auto pairs = static_cast<double>(measured) * (hosts - 1);
  return fmt::format("{:<10}at most {} links between two hosts, {:.2f} on average{}\n", "ways",
                     longest, static_cast<double>(sum) / pairs,
                     measured < hosts ? fmt::format(", from {} of them", measured) : "");
}

/// The groups of near hosts, innermost first.
std::string levels_of(const Topology& topology) {
  std::string text;
  for (const Level& level : topology.levels()) {
    const auto [parts, least, most] = part_sizes(level);
    text += fmt::format("{:<10}{}: {} parts of {}{} hosts\n", text.empty() ? "levels" : "",
                        level.name, parts, least == most ? "" : fmt::format("{} to ", least), most);
  }
  return text;
}

/// The costs of links, if the network states its own.
std::string costs_of(const Topology& topology) {
  std::string text;
  const auto& [message, reduced] = topology.endpoints();
  if (topology.endpoints() != EndpointCosts{})
    text +=
        fmt::format("{:<10}a host takes {:.4g} ns for a message, and reduces {}\n", "costs",
                    static_cast<double>(message) / 1e6,
                    reduced == 0 ? "at no cost"
                                 : fmt::format("{:.4g} GB/s", 1e6 / static_cast<double>(reduced)));
  if (!topology.assumed().empty()) text += fmt::format("{:<10}{}\n", "assumed", topology.assumed());
  return text;
}

std::string text_of(const Topology& topology) {
  return fmt::format("{:<10}{}\n{:<10}{}\n{:<10}{}{}\n", "network", topology.name(), "hosts",
                     topology.hosts(), "switches", topology.switches(), ports_of(topology)) +
         links_of(topology) + levels_of(topology) + costs_of(topology) + ways_of(topology);
}

/// The network as input of Graphviz, which reads names with the quotes of JSON.
std::string dot_of(const NamedTopology& network) {
  const auto quoted = [&](int vertex) {
    return detail::text_of_json(nlohmann::json(network.names[static_cast<std::size_t>(vertex)]));
  };
  const Topology& topology = network.topology;
  std::string text = "graph " + detail::text_of_json(nlohmann::json(topology.name())) + " {\n";
  text += "  node [shape=point];\n";
  for (int vertex = topology.hosts(); vertex < topology.vertices(); ++vertex)
    text += "  " + quoted(vertex) + " [shape=box];\n";
  for (const Topology::Link& link : topology.links())
    text += "  " + quoted(link.a) + " -- " + quoted(link.b) + ";\n";
  return text + "}\n";
}

std::string printed(const TopologyFlags& options) {
  const NamedTopology network = described_network(options.network);
  if (options.format == "json") return detail::text_of_json(network_json(network), 1) + "\n";
  return options.format == "dot" ? dot_of(network) : text_of(network.topology);
}

}  // namespace

void add_topology(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<TopologyFlags>();
  CLI::App* command = app.add_subcommand("topology", "describe a network: a family or a file");
  command->add_option("network", options->network, "torus:8x8, machine (this host), or a file")
      ->required();
  command->add_option("--format", options->format, "text, json, or dot for Graphviz")
      ->check(CLI::IsMember({"text", "json", "dot"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "file; default: standard output");
  command->callback([options, &run] {
    const std::string text = printed(*options);
    run = perf::on_first_rank([options, text] {
      perf::write_text(text, options->output);
      return static_cast<int>(perf::ExitCode::good);
    });
  });
}

}  // namespace tutti::command
