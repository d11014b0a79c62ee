// tutti list: the algorithms of the catalog.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "base/json_text.hpp"
#include "command/commands.hpp"
#include "command/traits.hpp"
#include "perf/command_line.hpp"
#include "perf/exit_code.hpp"
#include "perf/load.hpp"
#include "proof/verify_row.hpp"
#include "selector/predict_flow.hpp"

namespace tutti::command {
namespace {

struct ListOptions {
  std::vector<Collective> collectives = perf::collectives_named("all");
  std::shared_ptr<const Catalog> catalog = perf::load_catalog("");
  bool json = false;
};

/// The name of an algorithm with its parameter, as a choice is written.
std::string written(const Algorithm& row) {
  if (row.parameter == AlgorithmParameter::none) return std::string{row.name};
  if (row.parameter == AlgorithmParameter::graph)
    return fmt::format("{}:graph=torus:4x4", row.name);
  if (row.parameter == AlgorithmParameter::hierarchy)
    return fmt::format("{}(A, B):groups=4", row.name);
  const std::string value =
      row.parameter == AlgorithmParameter::skips ? "5+3+2+1" : std::to_string(row.default_number);
  return fmt::format("{}[:{}={}]", row.name, key_of(row.parameter), value);
}

std::vector<std::string> facts_of(const Algorithm& row) {
  std::vector<std::string> facts = words_of(row);
  if (row.traits.sizes != Sizes::any)
    facts.insert(facts.begin(), std::string{perf::words_of(row.traits.sizes)});
  if (row.segment_bytes > 0)
    facts.push_back(fmt::format("segments of {} KiB", row.segment_bytes >> 10));
  if (row.table != nullptr)
    for (const auto& [key, schedules] : row.table->all())
      facts.push_back(key.second == 0 ? fmt::format("{} ranks", key.first)
                                      : fmt::format("{} ranks, root {}", key.first, key.second));
  return facts;
}

std::string table(const std::vector<const Algorithm*>& rows) {
  std::string text;
  const Algorithm* last = nullptr;
  for (const Algorithm* row : rows) {
    if (last == nullptr || last->collective != row->collective)
      text += fmt::format("{}{}\n", last == nullptr ? "" : "\n", name_of(row->collective));
    last = row;
    text += fmt::format("  {:<28} {}\n", written(*row), row->summary);
    if (const std::vector<std::string> facts = facts_of(*row); !facts.empty())
      text += fmt::format("  {:<28} {}\n", "", fmt::join(facts, ", "));
  }
  return text + fmt::format(
                    "\n{} algorithms, for any number of ranks unless stated otherwise.\n"
                    "A parameter in brackets may be left out; a number shows its default.\n",
                    rows.size());
}

/// Counts the rounds with messages on the longest path of the data flow.
struct CountRounds {
  int busy(RoundOf, std::span<const Step> round, int now) const {
    return now + (std::ranges::any_of(round, &Step::has_peer) ? 1 : 0);
  }
  int later(int a, int b) const noexcept { return std::max(a, b); }
  int done(RoundOf, std::span<const Step>, int now) const noexcept { return now; }
  void matched(RoundOf, RoundOf, int) const noexcept {}
};

/// The costs of a choice on a number of ranks, with root 0.
nlohmann::ordered_json costs_of(const Choice& choice, int size) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, 0, rank));
  const Collective collective = choice.algorithm->collective;
  const Verdict verdict = verify_schedules({collective, size, 0}, schedules);
  if (!verdict.proved()) return nullptr;
  CountRounds pricing;
  const std::vector<int> ends = Flow<int, CountRounds>{schedules, size, pricing}.run();
  nlohmann::ordered_json costs{
      {"choice", choice.text()}, {"ranks", size}, {"rounds", *std::ranges::max_element(ends)}};
  if (traits_of(collective).input != Extent::nothing)
    costs["vectors_sent"] = verdict.facts.vectors_sent();
  return costs;
}

/// The costs on eight ranks, or on the next number that the row serves. Null if it serves none up
/// to 18, the ranks of the smallest Slim Fly.
nlohmann::ordered_json costs_of(const Algorithm& row) {
  constexpr int kFewest = 8;
  constexpr int kMost = 18;
  for (int size = kFewest; size <= kMost; ++size) {
    if (!admits(row.traits.sizes, size)) continue;
    try {
      return costs_of(typical_choice(row, size), size);
    } catch (const std::exception&) {  // the row does not serve this number
    }
  }
  return nullptr;
}

std::string json_of(const std::vector<const Algorithm*>& rows) {
  auto document = nlohmann::ordered_json::array();
  for (const Algorithm* row : rows) {
    nlohmann::ordered_json entry{{"collective", name_of(row->collective)},
                                 {"algorithm", row->name},
                                 {"parameter", name_of(row->parameter)},
                                 {"key", key_of(row->parameter)},
                                 {"ranks", name_of(row->traits.sizes)},
                                 {"reduces", is_reduction(row->collective)},
                                 {"ordered", name_of(row->traits.ordered)},
                                 {"rank_identical", name_of(row->traits.rank_identical)},
                                 {"size_invariant", name_of(row->traits.size_invariant)},
                                 {"same_tree_as", row->traits.same_tree_as},
                                 {"rotational", row->traits.rotational},
                                 {"own_counts_only", row->traits.own_counts_only},
                                 {"lockstep", row->traits.lockstep},
                                 {"segment_bytes", row->segment_bytes},
                                 {"summary", row->summary}};
    entry["costs"] = costs_of(*row);
    if (is_number(row->parameter)) entry["default"] = row->default_number;
    document.push_back(std::move(entry));
  }
  return detail::text_of_json(document, 1) + "\n";
}

}  // namespace

void add_list(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "list the algorithms of every collective");
  command
      ->add_option_function<std::string>(
          "-C,--collective",
          [options](const std::string& text) {
            options->collectives = perf::collectives_named(text);
          },
          "names with commas, or all")
      ->default_str("all");
  command->add_flag("--json", options->json, "an array with one object per algorithm");
  command->add_option_function<std::string>(
      "--load", [options](const std::string& text) { options->catalog = perf::load_catalog(text); },
      perf::kLoadHelp);
  command->callback([options, &run] {
    run = perf::on_first_rank([options] {
      const auto rows = perf::rows_named(*options->catalog, options->collectives, "");
      perf::write_text(options->json ? json_of(rows) : table(rows), "");
      return static_cast<int>(perf::ExitCode::good);
    });
  });
}

}  // namespace tutti::command
