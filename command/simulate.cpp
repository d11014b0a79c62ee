// tutti simulate: times of algorithms on a described network.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/contract.hpp>

#include "base/json_text.hpp"
#include "command/commands.hpp"
#include "command/network.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "perf/pages/draw.hpp"
#include "selector/selector.hpp"
#include "selector/simulate.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::number_in;

namespace {

/// The values of the flags.
struct SimulateWanted {
  std::shared_ptr<const Catalog> catalog = perf::load_catalog("");
  std::optional<NamedTopology> network{};
  Collective collective = Collective::all_reduce;
  std::vector<std::string> algorithms{};
  std::vector<Choice> choices{};
  std::vector<std::size_t> blocks{};
  int ranks = 0;  // 0: one per host of the network
  int per_host = 1;
  std::vector<int> hosts{};                    // host of each rank, unless rank r is on host r
  std::optional<std::size_t> segment_bytes{};  // if given
  std::size_t bytes = std::size_t{1} << 20;
  Rank root = 0;
  std::string routing = "fixed";
  std::string heat{};
  bool json = false;
};

struct SimulatedChoice {
  std::string algorithm;
  std::size_t segments = 1;
  Simulated simulated{};
  double busiest = 0;  // bytes of the busiest channel
};

/// The named algorithms, or all that need no network and no groups of their own.
std::vector<Choice> choices_of(const SimulateWanted& wanted) {
  std::vector<Choice> choices;
  for (const std::string& text : wanted.algorithms) {
    choices.push_back(
        on_hosts(parse_choice(*wanted.catalog, wanted.collective, perf::with_graphs_of_files(text)),
                 wanted.hosts));
    require(choices.back(), wanted.ranks);
  }
  if (!choices.empty()) return choices;
  for (const Algorithm* const row : wanted.catalog->rows())
    if (row->collective == wanted.collective && has_default(row->parameter) &&
        admits(row->traits.sizes, wanted.ranks))
      choices.push_back({.algorithm = row, .number = row->default_number});
  return choices;
}

/// Assigns ranks to hosts.
void place(SimulateWanted& wanted) {
  const Topology& topology = wanted.network->topology;
  const int per_host = wanted.per_host;
  const auto places = static_cast<int>(
      std::min<std::int64_t>(std::int64_t{topology.hosts()} * per_host, Topology::kMost));
  const int most = std::min(places, kMostRanks);
  const bool is_said = wanted.ranks != 0;
  if (is_said) perf::require_in("--ranks", wanted.ranks, {1, places});
  else wanted.ranks = most;
  if (wanted.ranks < places && !is_said)
    throw perf::Failure{ExitCode::usage,
                        fmt::format("network {} has places for {} ranks: give --ranks, at most {}",
                                    topology.name(), places, kMostRanks)};
  if (per_host > 1) wanted.hosts = hosts_filled(wanted.ranks, per_host);
  else if (!topology.levels().empty())
    wanted.hosts.assign(topology.levels().back().part_of.begin(),
                        topology.levels().back().part_of.begin() + wanted.ranks);
  wanted.network = with_ranks(std::move(*wanted.network), wanted.ranks, per_host);
}

/// Checks flags that depend on each other.
void complete(SimulateWanted& wanted) try {
  place(wanted);
  perf::require_in("--root", wanted.root, {0, wanted.ranks - 1});
  const Contract contract{wanted.collective, wanted.ranks, wanted.root};
  const Partition partition{wanted.bytes, contract.blocks()};
  for (std::size_t block = 0; block < contract.blocks(); ++block)
    wanted.blocks.push_back(partition.size(block));
  wanted.choices = choices_of(wanted);
} catch (const Error& error) {
  throw perf::Failure{ExitCode::usage, error.what()};
}

SimulatedChoice outcome_of(const Choice& choice, const SimulateWanted& wanted, Routing routing) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < wanted.ranks; ++rank)
    schedules.push_back(choice.build(wanted.ranks, wanted.root, rank));
  const std::size_t segment_bytes = wanted.segment_bytes.value_or(choice.algorithm->segment_bytes);
  const std::size_t segments =
      detail::segment_count(wanted.bytes, segment_bytes, *std::ranges::max_element(wanted.blocks));
  SimulatedChoice outcome{
      .algorithm = choice.text(),
      .segments = segments,
      .simulated = simulate(schedules, wanted.blocks, 1, wanted.network->topology, routing,
                            wanted.network->topology.endpoints(), {.count = segments})};
  const std::vector<double>& carried = outcome.simulated.carried;
  if (!carried.empty()) outcome.busiest = *std::ranges::max_element(carried);
  return outcome;
}

std::string name_of_row(const SimulatedChoice& outcome) {
  return outcome.segments == 1
             ? outcome.algorithm
             : fmt::format("{}, {} segments", outcome.algorithm, outcome.segments);
}

std::string table(const std::vector<SimulatedChoice>& outcomes, const SimulateWanted& wanted) {
  std::size_t width = 32;
  for (const SimulatedChoice& outcome : outcomes)
    width = std::max(width, name_of_row(outcome).size());
  std::string text = fmt::format(
      "{} of {} bytes on {} ranks, network {}, routing {}\n\n{:<{}}{:>14}{:>10}{:>12}{:>14}\n",
      name_of(wanted.collective), wanted.bytes, wanted.ranks, wanted.network->topology.name(),
      wanted.routing, "algorithm", width, "us", "x best", "messages", "busiest link");
  for (const SimulatedChoice& outcome : outcomes)
    text += fmt::format(
        "{:<{}}{:>14.1f}{:>10.2f}{:>12}{:>14.0f}\n", name_of_row(outcome), width,
        outcome.simulated.nanoseconds / 1000,
        outcome.simulated.nanoseconds / std::max(outcomes.front().simulated.nanoseconds, 1.0),
        outcome.simulated.messages, outcome.busiest);
  return text + "\nThe busiest link is the one with most bytes in one direction.\n";
}

nlohmann::ordered_json json_of(const SimulatedChoice& outcome) {
  return {{"algorithm", outcome.algorithm},
          {"segments", outcome.segments},
          {"us", outcome.simulated.nanoseconds / 1000},
          {"messages", outcome.simulated.messages},
          {"bytes", outcome.simulated.bytes},
          {"busiest_link_bytes", outcome.busiest}};
}

std::string json_of(const std::vector<SimulatedChoice>& outcomes) {
  auto json = nlohmann::ordered_json::array();
  for (const SimulatedChoice& outcome : outcomes) json.push_back(json_of(outcome));
  return detail::text_of_json(json, 1) + "\n";
}

/// Input of heat.py: the network, and each algorithm's bytes per channel.
std::vector<std::string> heat_lines(const std::vector<SimulatedChoice>& outcomes,
                                    const SimulateWanted& wanted) {
  nlohmann::ordered_json network{{"record", "network"},
                                 {"collective", name_of(wanted.collective)},
                                 {"vector_bytes", wanted.bytes},
                                 {"ranks", wanted.ranks},
                                 {"routing", wanted.routing}};
  network.update(network_json(*wanted.network));
  std::vector<std::string> lines{detail::text_of_json(network)};
  for (const SimulatedChoice& outcome : outcomes) {
    nlohmann::ordered_json record{{"record", "algorithm"}};
    record.update(json_of(outcome));
    record["carried"] = outcome.simulated.carried;
    lines.push_back(detail::text_of_json(record));
  }
  return lines;
}

int run_simulation(const SimulateWanted& wanted) {
  const Routing routing = wanted.routing == "fixed" ? Routing::fixed : Routing::balanced;
  const std::string heat = wanted.heat.empty() ? "" : perf::heat_command(wanted.heat);
  std::vector<SimulatedChoice> outcomes;
  for (const Choice& choice : wanted.choices)
    outcomes.push_back(outcome_of(choice, wanted, routing));
  std::ranges::stable_sort(
      outcomes, {}, [](const SimulatedChoice& outcome) { return outcome.simulated.nanoseconds; });
  perf::write_text(wanted.json ? json_of(outcomes) : table(outcomes, wanted), "");
  return static_cast<int>(heat.empty() ? ExitCode::good
                                       : perf::draw(heat, heat_lines(outcomes, wanted)));
}

}  // namespace

void add_simulate(CLI::App& app, std::function<int()>& run) {
  const auto wanted = std::make_shared<SimulateWanted>();
  CLI::App* command = app.add_subcommand("simulate", "predict times of algorithms on a network");
  const auto add = [command](const char* name, const char* help,
                             std::function<void(const std::string&)> read) {
    return command->add_option_function<std::string>(name, std::move(read), help);
  };
  add("network", "a family or file, as for tutti topology", [wanted](const std::string& text) {
    wanted->network = described_network(text);
  })->required();
  add("-C,--collective", "collective", [wanted](const std::string& text) {
    wanted->collective = perf::collective_named(text);
  })->default_str("all_reduce");
  command
      ->add_option("-a,--algorithm", wanted->algorithms,
                   "such as ring; may be repeated; default: all")
      ->allow_extra_args(false);
  add("-b,--bytes", "bytes of the whole vector: 8, 64K, 4M", [wanted](const std::string& text) {
    wanted->bytes = perf::bytes_in("--bytes", text);
  })->default_str("1M");
  add("--ranks", "number of ranks; default: one for each place", [wanted](const std::string& text) {
    wanted->ranks = number_in("--ranks", text, {1, Topology::kMost});
  });
  add("--per-host", "ranks on each host", [wanted](const std::string& text) {
    wanted->per_host = number_in("--per-host", text, {1, kMostRanks});
  })->default_str("1");
  add("--segment", "segment in bytes, or whole; default: its own",
      [wanted](const std::string& text) {
        wanted->segment_bytes = text == "whole" ? 0 : perf::bytes_in("--segment", text);
      });
  add("--root", "root of rooted collectives", [wanted](const std::string& text) {
    wanted->root = number_in("--root", text, {0, Topology::kMost});
  })->default_str("0");
  command->add_option("--routing", wanted->routing, "fixed (by the receiver), or balanced")
      ->check(CLI::IsMember({"fixed", "balanced"}))
      ->capture_default_str();
  command->add_flag("--json", wanted->json, "an array with one object per algorithm");
  command->add_option("--heat", wanted->heat, "draw the load of each link: an .svg or .png");
  add("--load", perf::kLoadHelp,
      [wanted](const std::string& text) { wanted->catalog = perf::load_catalog(text); });
  command->callback([wanted, &run] {
    complete(*wanted);
    run = perf::on_first_rank([wanted] { return run_simulation(*wanted); });
  });
}

}  // namespace tutti::command
