// tutti explain: which algorithm a call would run on a network that is described, and why.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

#include "command/commands.hpp"
#include "command/network.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "perf/units.hpp"
#include "selector/selector.hpp"
#include "selector/structured.hpp"
#include "topology/load.hpp"

namespace tutti::perf {
namespace {

/// More would take long to profile where nothing is alike.
constexpr int kMostExplained = 65'536;
struct ExplainFlags {
  std::string network;
  std::string collective = "all_reduce";
  std::vector<std::string> bytes{"1M"};
  std::string ranks;
  std::string per_host = "1";
  std::string root = "0";
  std::string routing = "fixed";
  std::string load;
  bool json = false;
};

struct ExplainWanted {
  Contract contract{};
  std::vector<std::size_t> bytes{};
  std::shared_ptr<detail::Selector> selector{};
};

std::shared_ptr<detail::Selector> selector_of(const ExplainFlags& flags,
                                              const NamedTopology& network, int ranks,
                                              int per_host) {
  const Routing routing = flags.routing == "fixed" ? Routing::fixed : Routing::balanced;
  std::vector<int> hosts = hosts_filled(ranks, per_host);
  auto graph = per_host == 1 ? detail::router_graph(network.topology, ranks) : nullptr;
  Topology placed = with_ranks(network, ranks, per_host).topology;
  return std::make_shared<detail::Selector>(RankNetwork{std::move(placed), routing},
                                            load_catalog(flags.load), std::move(hosts),
                                            std::move(graph));
}

ExplainWanted understand_explain(const ExplainFlags& flags) try {
  const NamedTopology network = read_network(find_network(flags.network));
  const int per_host = number_in("--per-host", flags.per_host, {1, kMostExplained});
  const auto places =
      std::min<std::int64_t>(std::int64_t{network.topology.hosts()} * per_host, kMostExplained);
  const int most = static_cast<int>(places);
  ExplainWanted wanted;
  const int ranks = flags.ranks.empty() ? most : number_in("--ranks", flags.ranks, {1, most});
  wanted.contract = {collective_named(flags.collective), ranks,
                     number_in("--root", flags.root, {0, ranks - 1})};
  for (const std::string& text : flags.bytes) {
    const auto bytes = parse_bytes(text);
    if (!bytes) reject_word("number of bytes", text, {"8", "64K", "1M"});
    wanted.bytes.push_back(*bytes);
  }
  wanted.selector = selector_of(flags, network, ranks, per_host);
  return wanted;
} catch (const Error& error) {
  throw Failure{ExitCode::usage, error.what()};
}

nlohmann::ordered_json json_of_candidate(const detail::Candidate& candidate) {
  nlohmann::ordered_json json{{"algorithm", candidate.choice.text()},
                              {"segment_bytes", candidate.segment_bytes}};
  if (!candidate.refusal.empty()) {
    json["left_out"] = candidate.refusal;
    return json;
  }
  const auto us = [](Femtoseconds time) { return static_cast<double>(time) / 1e9; };
  json["us"] = us(candidate.predicted);
  json["latency_us"] = us(candidate.terms.latency);
  json["messages_us"] = us(candidate.terms.messages);
  json["links_us"] = us(candidate.terms.bytes);
  json["reductions_us"] = us(candidate.terms.reductions);
  return json;
}

int run_explain(const ExplainFlags& flags, const ExplainWanted& wanted) {
  auto json = nlohmann::ordered_json::array();
  std::string text;
  const std::size_t blocks = std::max<std::size_t>(wanted.contract.blocks(), 1);
  for (const std::size_t bytes : wanted.bytes) {
    const detail::Problem problem{.contract = wanted.contract,
                                  .count = (bytes + blocks - 1) / blocks};
    detail::Selection selection = wanted.selector->select(problem);
    std::ranges::stable_sort(selection.candidates,
                             [](const detail::Candidate& a, const detail::Candidate& b) {
                               if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
                               return a.predicted < b.predicted;
                             });
    text += fmt::format("{} of {} bytes on {} ranks: {}\n\n", name_of(wanted.contract.collective),
                        problem.bytes(), wanted.contract.size, selection.explain());
    auto candidates = nlohmann::ordered_json::array();
    for (const detail::Candidate& candidate : selection.candidates)
      candidates.push_back(json_of_candidate(candidate));
    json.push_back({{"bytes", problem.bytes()},
                    {"chosen", selection.chosen.choice.text()},
                    {"times", detail::name_of(selection.times)},
                    {"rests_on", selection.costs},
                    {"candidates", std::move(candidates)}});
  }
  write_text(flags.json ? json.dump(1) + "\n" : text, "");
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_explain(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command =
      app.add_subcommand("explain", "the algorithm of a call on a network, and why");
  command->add_option("--topology", flags->network, "a family or file, as for tutti topology")
      ->required();
  command->add_option("-C,--collective", flags->collective, "collective")->capture_default_str();
  command->add_option("-b,--bytes", flags->bytes, "bytes of the whole vector: 64K, or 8,64K,4M")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--ranks", flags->ranks, "number of ranks; default: one for each place");
  command->add_option("--per-host", flags->per_host, "ranks on each host")->capture_default_str();
  command->add_option("--root", flags->root, "root of rooted collectives")->capture_default_str();
  command->add_option("--routing", flags->routing, "fixed (by the receiver), or balanced")
      ->check(CLI::IsMember({"fixed", "balanced"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "an array with one object per number of bytes");
  command->add_option("--load", flags->load, kLoadHelp);
  command->callback([flags, &run] {
    const auto wanted = std::make_shared<ExplainWanted>(understand_explain(*flags));
    run = on_first_rank([flags, wanted] { return run_explain(*flags, *wanted); });
  });
}

}  // namespace tutti::perf
