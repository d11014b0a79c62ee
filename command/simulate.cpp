// tutti simulate: what algorithms take on a network that is described.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/contract.hpp>

#include "command/commands.hpp"
#include "command/network.hpp"
#include "perf/command_line.hpp"
#include "perf/load.hpp"
#include "perf/sweep_failure.hpp"
#include "perf/sweep_plot.hpp"
#include "perf/sweep_units.hpp"
#include "selector/simulate.hpp"

namespace tutti::perf {
namespace {

struct SimulateFlags {
  std::string network;
  std::string collective = "all_reduce";
  std::vector<std::string> algorithms;
  std::string bytes = "1M";
  std::string ranks;
  std::string root = "0";
  std::string routing = "fixed";
  std::string load;
  std::string heat;
  bool json = false;
};

/// The flags as understood.
struct SimulateWanted {
  std::shared_ptr<const Catalog> catalog{};
  Topology topology;
  Collective collective{};
  std::vector<Choice> choices{};
  std::vector<std::size_t> blocks{};
  int ranks = 1;
  Rank root = 0;
};

struct SimulatedChoice {
  std::string algorithm;
  Simulated simulated{};
  double busiest = 0;  // bytes of the channel with most
};

/// Those that are named, or all that need no network or groups of their own.
std::vector<Choice> choices_of(const SimulateFlags& flags, const SimulateWanted& wanted) {
  std::vector<Choice> choices;
  for (const std::string& text : flags.algorithms) {
    choices.push_back(parse_choice(*wanted.catalog, wanted.collective, with_graphs_of_files(text)));
    require(choices.back(), wanted.ranks);
  }
  if (!choices.empty()) return choices;
  for (const Algorithm* const row : wanted.catalog->rows())
    if (row->collective == wanted.collective && has_default(row->parameter) &&
        admits(row->traits.sizes, wanted.ranks))
      choices.push_back({.algorithm = row, .number = row->default_number});
  return choices;
}

SimulateWanted understand(const SimulateFlags& flags) try {
  SimulateWanted wanted{.catalog = load_catalog(flags.load),
                        .topology = load_network(flags.network).topology,
                        .collective = collective_named(flags.collective)};
  const int hosts = std::min(wanted.topology.hosts(), kMostRanks);
  wanted.ranks =
      flags.ranks.empty() ? hosts : number_in("--ranks", flags.ranks, {1, wanted.topology.hosts()});
  if (wanted.ranks < wanted.topology.hosts() && flags.ranks.empty())
    throw Failure{ExitCode::usage,
                  fmt::format("network {} has {} hosts: say how many ranks by --ranks, at most {}",
                              wanted.topology.name(), wanted.topology.hosts(), kMostRanks)};
  wanted.root = number_in("--root", flags.root, {0, wanted.ranks - 1});
  const auto bytes = parse_bytes(flags.bytes);
  if (!bytes) refuse_word("number of bytes", flags.bytes, {"8", "64K", "1M"});
  const Contract contract{wanted.collective, wanted.ranks, wanted.root};
  const Partition partition{*bytes, contract.blocks()};
  for (std::size_t block = 0; block < contract.blocks(); ++block)
    wanted.blocks.push_back(partition.size(block));
  wanted.choices = choices_of(flags, wanted);
  return wanted;
} catch (const Error& error) {
  throw Failure{ExitCode::usage, error.what()};
}

SimulatedChoice outcome_of(const Choice& choice, const SimulateWanted& wanted, Routing routing) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < wanted.ranks; ++rank)
    schedules.push_back(choice.build(wanted.ranks, wanted.root, rank));
  SimulatedChoice outcome{
      .algorithm = choice.text(),
      .simulated = simulate(schedules, wanted.blocks, 1, wanted.topology, routing)};
  const std::vector<double>& carried = outcome.simulated.carried;
  if (!carried.empty()) outcome.busiest = *std::ranges::max_element(carried);
  return outcome;
}

std::string table(const std::vector<SimulatedChoice>& outcomes, const SimulateFlags& flags,
                  const SimulateWanted& wanted) {
  std::string text = fmt::format(
      "{} of {} bytes on {} ranks, network {}, routing {}\n\n{:<32}{:>14}{:>10}{:>12}{:>14}\n",
      name_of(wanted.collective), *parse_bytes(flags.bytes), wanted.ranks, wanted.topology.name(),
      flags.routing, "algorithm", "us", "x best", "messages", "busiest link");
  for (const SimulatedChoice& outcome : outcomes)
    text += fmt::format(
        "{:<32}{:>14.1f}{:>10.2f}{:>12}{:>14.0f}\n", outcome.algorithm,
        outcome.simulated.nanoseconds / 1000,
        outcome.simulated.nanoseconds / std::max(outcomes.front().simulated.nanoseconds, 1.0),
        outcome.simulated.messages, outcome.busiest);
  return text + "\nThe busiest link is the one with most bytes in one direction.\n";
}

nlohmann::ordered_json json_of(const SimulatedChoice& outcome) {
  return {{"algorithm", outcome.algorithm},
          {"us", outcome.simulated.nanoseconds / 1000},
          {"messages", outcome.simulated.messages},
          {"bytes", outcome.simulated.bytes},
          {"busiest_link_bytes", outcome.busiest}};
}

std::string json_of(const std::vector<SimulatedChoice>& outcomes) {
  auto json = nlohmann::ordered_json::array();
  for (const SimulatedChoice& outcome : outcomes) json.push_back(json_of(outcome));
  return json.dump(1) + "\n";
}

/// What heat.py draws: the network, and bytes by channel of each algorithm.
std::vector<std::string> heat_lines(const std::vector<SimulatedChoice>& outcomes,
                                    const SimulateFlags& flags, const SimulateWanted& wanted) {
  nlohmann::ordered_json network{{"record", "network"},
                                 {"collective", name_of(wanted.collective)},
                                 {"vector_bytes", *parse_bytes(flags.bytes)},
                                 {"ranks", wanted.ranks},
                                 {"routing", flags.routing}};
  network.update(network_json(load_network(flags.network)));
  std::vector<std::string> lines{network.dump()};
  for (const SimulatedChoice& outcome : outcomes) {
    nlohmann::ordered_json record{{"record", "algorithm"}};
    record.update(json_of(outcome));
    record["carried"] = outcome.simulated.carried;
    lines.push_back(record.dump());
  }
  return lines;
}

int run_simulation(const SimulateFlags& flags, const SimulateWanted& wanted) {
  const Routing routing = flags.routing == "fixed" ? Routing::fixed : Routing::balanced;
  const std::string heat = flags.heat.empty() ? "" : heat_command(flags.heat);
  std::vector<SimulatedChoice> outcomes;
  for (const Choice& choice : wanted.choices)
    outcomes.push_back(outcome_of(choice, wanted, routing));
  std::ranges::stable_sort(
      outcomes, {}, [](const SimulatedChoice& outcome) { return outcome.simulated.nanoseconds; });
  write_text(flags.json ? json_of(outcomes) : table(outcomes, flags, wanted), "");
  return static_cast<int>(heat.empty() ? ExitCode::good
                                       : draw(heat, heat_lines(outcomes, flags, wanted)));
}

}  // namespace

void add_simulate(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand("simulate", "what algorithms take on a described network");
  command->add_option("network", flags->network, "as tutti topology takes it")->required();
  command->add_option("-C,--collective", flags->collective, "which one")->capture_default_str();
  command
      ->add_option("-a,--algorithm", flags->algorithms,
                   "such as ring; may be given several times; else all")
      ->allow_extra_args(false);
  command->add_option("-b,--bytes", flags->bytes, "of the whole vector: 8, 64K, 4M")
      ->capture_default_str();
  command->add_option("--ranks", flags->ranks, "the first so many hosts; else all");
  command->add_option("--root", flags->root, "root of rooted collectives")->capture_default_str();
  command->add_option("--routing", flags->routing, "fixed, as switches' tables, or balanced")
      ->check(CLI::IsMember({"fixed", "balanced"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "an array with one object per algorithm");
  command->add_option("--heat", flags->heat, "draw what each link carries: an .svg or .png");
  command->add_option("--load", flags->load, kLoadHelp);
  command->callback([flags, &run] {
    const auto wanted = std::make_shared<SimulateWanted>(understand(*flags));
    run = on_first_rank([flags, wanted] { return run_simulation(*flags, *wanted); });
  });
}

}  // namespace tutti::perf
