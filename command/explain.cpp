// tutti explain: the algorithm that a call would run on a described network, and the reasons.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

#include "base/json_text.hpp"
#include "command/commands.hpp"
#include "command/network.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "selector/selector.hpp"
#include "selector/structured.hpp"

namespace tutti::command {

using perf::number_in;

namespace {

/// Profiling takes long beyond this number of ranks, unless all ranks are alike.
constexpr int kMostExplained = 65'536;

/// The values of the flags.
struct ExplainWanted {
  std::shared_ptr<const Catalog> catalog = perf::load_catalog("");
  std::optional<NamedTopology> network{};
  Collective collective = Collective::all_reduce;
  int ranks = 0;  // 0: one per host of the network
  int per_host = 1;
  Rank root = 0;
  std::string routing = "fixed";
  std::vector<std::size_t> bytes{std::size_t{1} << 20};
  bool json = false;
  Contract contract{};
  std::shared_ptr<detail::Selector> selector{};
};

/// Checks flags that depend on each other.
void complete(ExplainWanted& wanted) try {
  const Topology& topology = wanted.network->topology;
  const auto places =
      std::min<std::int64_t>(std::int64_t{topology.hosts()} * wanted.per_host, kMostExplained);
  const int most = static_cast<int>(places);
  const int ranks = wanted.ranks == 0 ? most : wanted.ranks;
  perf::require_in("--ranks", ranks, {1, most});
  perf::require_in("--root", wanted.root, {0, ranks - 1});
  wanted.contract = {wanted.collective, ranks, wanted.root};
  const Routing routing = wanted.routing == "fixed" ? Routing::fixed : Routing::balanced;
  auto graph = wanted.per_host == 1 ? detail::router_graph(topology, ranks) : nullptr;
  Topology placed = with_ranks(*wanted.network, ranks, wanted.per_host).topology;
  wanted.selector =
      std::make_shared<detail::Selector>(RankNetwork{std::move(placed), routing}, wanted.catalog,
                                         hosts_filled(ranks, wanted.per_host), std::move(graph));
} catch (const Error& error) {
  throw perf::Failure{perf::ExitCode::usage, error.what()};
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

int run_explain(const ExplainWanted& wanted) {
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
                    {"times", selection.times},
                    {"rests_on", selection.costs},
                    {"candidates", std::move(candidates)}});
  }
  perf::write_text(wanted.json ? detail::text_of_json(json, 1) + "\n" : text, "");
  return static_cast<int>(perf::ExitCode::good);
}

}  // namespace

void add_explain(CLI::App& app, std::function<int()>& run) {
  const auto wanted = std::make_shared<ExplainWanted>();
  CLI::App* command =
      app.add_subcommand("explain", "the algorithm of a call on a network, and why");
  const auto add = [command](const char* name, const char* help,
                             std::function<void(const std::string&)> read) {
    return command->add_option_function<std::string>(name, std::move(read), help);
  };
  add("--topology", "a family or file, as for tutti topology", [wanted](const std::string& text) {
    wanted->network = described_network(text);
  })->required();
  add("-C,--collective", "collective", [wanted](const std::string& text) {
    wanted->collective = perf::collective_named(text);
  })->default_str("all_reduce");
  add("-b,--bytes", "bytes of the whole vector: 64K, or 8,64K,4M",
      [wanted](const std::string& text) {
        wanted->bytes.clear();
        for (const std::string& word : perf::split(text, ','))
          wanted->bytes.push_back(perf::bytes_in("--bytes", word));
      })
      ->default_str("1M");
  add("--ranks", "number of ranks; default: one for each place", [wanted](const std::string& text) {
    wanted->ranks = number_in("--ranks", text, {1, kMostExplained});
  });
  add("--per-host", "ranks on each host", [wanted](const std::string& text) {
    wanted->per_host = number_in("--per-host", text, {1, kMostExplained});
  })->default_str("1");
  add("--root", "root of rooted collectives", [wanted](const std::string& text) {
    wanted->root = number_in("--root", text, {0, kMostExplained});
  })->default_str("0");
  command->add_option("--routing", wanted->routing, "fixed (by the receiver), or balanced")
      ->check(CLI::IsMember({"fixed", "balanced"}))
      ->capture_default_str();
  command->add_flag("--json", wanted->json, "an array with one object per number of bytes");
  add("--load", perf::kLoadHelp,
      [wanted](const std::string& text) { wanted->catalog = perf::load_catalog(text); });
  command->callback([wanted, &run] {
    complete(*wanted);
    run = perf::on_first_rank([wanted] { return run_explain(*wanted); });
  });
}

}  // namespace tutti::command
