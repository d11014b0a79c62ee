// tutti verify: proves every algorithm for every number of ranks and every root.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>

#include "base/json_text.hpp"
#include "command/commands.hpp"
#include "command/traits.hpp"
#include "perf/command_line.hpp"
#include "perf/exit_code.hpp"
#include "perf/load.hpp"
#include "proof/verify_row.hpp"
#include "selector/predict.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::number_in;
using perf::RankRange;
using perf::write_text;

namespace {

constexpr RankRange kRanks{1, 512};
constexpr RankRange kBuilds{0, 65536};

/// A row of the catalog, or one choice of its parameters.
struct Subject {
  const Algorithm* row = nullptr;
  std::string
      choice{};  ///< Such as "knomial:k=3"; empty: the choices that verification of the row uses.
};

/// The values of the flags.
struct VerifyWanted {
  std::shared_ptr<const Catalog> catalog = perf::load_catalog("");
  std::vector<Collective> collectives = perf::collectives_named("all");
  std::string algorithms{};  ///< Names and choices, separated by commas.
  std::vector<Subject> subjects{};
  VerifyRange range{.min_size = 1, .max_size = 64};
  int build = 0;
  bool json = false;
};

/// The result for one row.
struct Outcome {
  RowReport report{};
  VerifyRange range{};         ///< The requested range.
  int built = 0;               ///< Ranks whose schedules were built; 0 if none were requested.
  std::string built_choice{};  ///< Parameters of those schedules.
  double build_s = 0;          ///< Seconds of building them.
  std::string
      build_refusal{};  ///< Why none were built: nothing wrong, the row serves other networks.
  std::string build_error{};  ///< Why it failed.

  [[nodiscard]] bool failed() const { return !report.findings.empty() || !build_error.empty(); }
  [[nodiscard]] bool proved() const { return report.proved() && build_error.empty(); }
};

/// The rows of the given names; for a name with parameters, that choice.
std::vector<Subject> subjects_of(const VerifyWanted& wanted) {
  std::vector<Subject> subjects;
  std::string names;
  for (const std::string& word : perf::split(wanted.algorithms, ',')) {
    const std::size_t end = word.find_first_of("(:");
    if (end == word.npos) names += (names.empty() ? "" : ",") + word;
    else
      for (const Algorithm* row :
           perf::rows_named(*wanted.catalog, wanted.collectives, word.substr(0, end)))
        subjects.push_back({row, parse_choice(*wanted.catalog, row->collective, word).text()});
  }
  if (names.empty() && !subjects.empty()) return subjects;
  for (const Algorithm* row : perf::rows_named(*wanted.catalog, wanted.collectives, names))
    subjects.push_back({row});
  return subjects;
}

/// The choice whose costs are printed.
Choice choice_of(const Outcome& outcome, int size) {
  const Algorithm& row = *outcome.report.algorithm;
  return outcome.range.choice.empty()
             ? verified_choices(row, size, outcome.range.seed).front()
             : parse_choice(*outcome.range.catalog, row.collective, outcome.range.choice);
}

/// Builds the schedules of all ranks, one after the other. If the row does not support this number
/// of ranks, takes the next smaller number that it supports.
void build(Outcome& outcome, int size) {
  const Algorithm& row = *outcome.report.algorithm;
  while (size > 0 && !admits(row.traits.sizes, size)) --size;
  if (size == 0) return;
  const Choice choice =
      outcome.range.choice.empty() ? typical_choice(row, size) : choice_of(outcome, size);
  outcome.built_choice = choice.text();
  const auto start = std::chrono::steady_clock::now();
  try {
    for (Rank rank = 0; rank < size; ++rank) (void)choice.build(size, 0, rank);
    outcome.built = size;
  } catch (const Error& error) {
    const bool may_refuse = outcome.range.choice.empty() && !has_default(row.parameter) &&
                            error.code() == ErrorCode::invalid_argument;
    (may_refuse ? outcome.build_refusal : outcome.build_error) =
        fmt::format("does not build for {} ranks: {}", size, error.what());
  } catch (const std::exception& error) {
    outcome.build_error = fmt::format("does not build for {} ranks: {}", size, error.what());
  }
  outcome.build_s = std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count();
}

Outcome prove(const Subject& subject, const VerifyWanted& wanted) {
  Outcome outcome{.range = wanted.range};
  outcome.range.choice = subject.choice;
  outcome.report = verify_row(*subject.row, outcome.range);
  build(outcome, wanted.build);
  return outcome;
}

std::string name_of(const Outcome& outcome) {
  return outcome.range.choice.empty() ? std::string{outcome.report.algorithm->name}
                                      : outcome.range.choice;
}

std::vector<std::string> proved_words(const RowReport& report) {
  if (!report.proved()) return {};
  const ProvedTraits& proved = report.proved_traits;
  return words_of(report.algorithm->collective, {.ordered = proved.ordered,
                                                 .rank_identical = proved.rank_identical,
                                                 .size_invariant = proved.size_invariant,
                                                 .rotational = proved.rotational,
                                                 .own_counts_only = proved.own_counts_only,
                                                 .lockstep = proved.lockstep});
}

/// Such as "3, 5, 6, 7, .. (58 sizes)": the first few show the pattern.
std::string refused_sizes(const RowReport& report) {
  constexpr std::size_t kShown = 4;
  std::vector<int> sizes;
  for (const Refusal& refusal : report.refusals) sizes.push_back(refusal.size);
  const std::size_t shown = std::min(sizes.size(), kShown);
  const std::string text = fmt::format(
      "{}", fmt::join(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == sizes.size() ? text : fmt::format("{}, .. ({} sizes)", text, sizes.size());
}

/// Messages in sequence on the longest path through the data flow. A rank's rounds can be fewer: in
/// a chain a rank has two, and waits for all ranks before it.
std::int64_t depth_of(const Outcome& outcome, int size) {
  return profile_of(choice_of(outcome, size), size, 0).path.messages;
}

std::string result_of(const Outcome& outcome) {
  if (outcome.failed()) return "FAILED";
  if (outcome.report.has_nothing_to_prove()) return "nothing to prove";
  std::vector<std::string> words = proved_words(outcome.report);
  words.insert(words.begin(), "proved");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string lines_of(const Outcome& outcome) {
  const RowReport& report = outcome.report;
  const SizeReport largest = report.sizes.empty() ? SizeReport{} : report.sizes.back();
  // A wrong schedule may have no data flow, so it has no depth.
  const std::int64_t depth =
      report.proved() && largest.size > 0 ? depth_of(outcome, largest.size) : 0;
  std::string text = fmt::format("{:<14} {:<21} {:>6} {:>6} {:>6} {:>6} {:>6.3f}  {}\n",
                                 name_of(report.algorithm->collective), name_of(outcome),
                                 report.shapes, largest.size, largest.facts.rounds, depth,
                                 largest.facts.vectors_sent(), result_of(outcome));
  if (!report.refusals.empty())
    text += fmt::format("{:>15}rejects {}: {}\n", "", refused_sizes(report),
                        report.refusals.front().reason);
  if (report.proved() && !report.slim_flies.empty())
    text +=
        fmt::format("{:>15}and Slim Flies of {} ranks\n", "", fmt::join(report.slim_flies, ", "));
  if (report.proved() && !report.sample.empty())
    text += fmt::format("{:>15}and a sample of {} ranks\n", "", fmt::join(report.sample, ", "));
  for (const Finding& finding : report.findings)
    text += fmt::format("{:>15}{}: {}\n", "", name_of(finding.kind), finding.message);
  if (!outcome.build_error.empty()) text += fmt::format("{:>15}{}\n", "", outcome.build_error);
  return text;
}

nlohmann::ordered_json json_of(const Outcome& outcome) {
  const RowReport& report = outcome.report;
  nlohmann::ordered_json json{{"collective", name_of(report.algorithm->collective)},
                              {"algorithm", name_of(outcome)},
                              {"proved", report.proved()},
                              {"shapes", report.shapes},
                              {"properties", proved_words(report)}};
  if (report.has_nothing_to_prove()) json["proved"] = nullptr;
  for (const char* list : {"sizes", "refusals", "findings"})
    json[list] = nlohmann::ordered_json::array();
  for (const SizeReport& size : report.sizes) {
    json["sizes"].push_back({{"ranks", size.size},
                             {"rounds", size.facts.rounds},
                             {"messages", size.facts.messages},
                             {"vectors_sent", size.facts.vectors_sent()}});
    if (report.proved()) json["sizes"].back()["depth"] = depth_of(outcome, size.size);
  }
  for (const Refusal& refusal : report.refusals)
    json["refusals"].push_back({{"ranks", refusal.size}, {"reason", refusal.reason}});
  for (const Finding& finding : report.findings)
    json["findings"].push_back({{"check", name_of(finding.kind)}, {"message", finding.message}});
  json["slim_flies"] = report.slim_flies;
  json["sample"] = report.sample;
  if (outcome.built > 0)
    json["build"] = {{"algorithm", outcome.built_choice},
                     {"ranks", outcome.built},
                     {"seconds", outcome.build_s}};
  if (!outcome.build_error.empty()) json["build_error"] = outcome.build_error;
  return json;
}

constexpr const char* kHeading =
    "# shapes: numbers of ranks, roots and parameters that were verified\n"
    "# rounds, depth, sent: at the greatest number of ranks; most rounds of a rank, messages one\n"
    "# after the other on the longest path, and the volume of the busiest rank, in vectors\n";

/// The time of building large schedules. Names parameters that have no default, and numbers of
/// ranks that differ from the requested one.
std::string built_lines(const std::vector<Outcome>& outcomes, int wanted) {
  std::size_t built = 0;
  double build_s = 0;
  const Outcome* slowest = &outcomes.front();
  std::string others;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.build_refusal.empty())
      others += fmt::format("# {} {} {}\n", name_of(outcome.report.algorithm->collective),
                            outcome.built_choice, outcome.build_refusal);
    if (outcome.built == 0) continue;
    ++built;
    build_s += outcome.build_s;
    if (outcome.build_s > slowest->build_s) slowest = &outcome;
    if (outcome.built != wanted || !has_default(outcome.report.algorithm->parameter))
      others += fmt::format("# {} {} for {} ranks in {:.2f} s\n",
                            name_of(outcome.report.algorithm->collective), outcome.built_choice,
                            outcome.built, outcome.build_s);
  }
  return fmt::format(
             "# {} rows built for {} ranks or the next fewer in {:.1f} s, at most {:.2f} s each "
             "({} {})\n",
             built, wanted, build_s, slowest->build_s,
             name_of(slowest->report.algorithm->collective), name_of(*slowest)) +
         others;
}

/// The last lines: the number of rows, and the time.
std::string summary_of(const std::vector<Outcome>& outcomes, double seconds, int build) {
  std::size_t proved = 0;
  std::size_t idle = 0;
  std::size_t shapes = 0;
  for (const Outcome& outcome : outcomes) {
    proved += outcome.proved() ? 1 : 0;
    idle += outcome.report.has_nothing_to_prove() ? 1 : 0;
    shapes += outcome.report.shapes;
    seconds -= outcome.build_s;
  }
  const std::string others = idle == 0 ? "" : fmt::format(", {} with nothing to prove", idle);
  return fmt::format("# {} of {} rows proved{}, {} shapes, {:.1f} s\n", proved, outcomes.size(),
                     others, shapes, seconds) +
         (build == 0 ? "" : built_lines(outcomes, build));
}

/// If the command found no shape to prove and built no schedule, the request was one that no row
/// supports.
ExitCode exit_code_of(const std::vector<Outcome>& outcomes) {
  bool did_something = false;
  for (const Outcome& outcome : outcomes) {
    if (outcome.failed()) return ExitCode::wrong_data;
    did_something = did_something || outcome.proved() || outcome.built > 0;
  }
  return did_something ? ExitCode::good : ExitCode::usage;
}

int verify(const VerifyWanted& wanted) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Outcome> outcomes;
  if (!wanted.json)
    write_text(
        kHeading + fmt::format("{:<14} {:<21} {:>6} {:>6} {:>6} {:>6} {:>6}  {}\n", "# collective",
                               "algorithm", "shapes", "ranks", "rounds", "depth", "sent", "result"),
        "");
  auto records = nlohmann::ordered_json::array();
  for (const Subject& subject : wanted.subjects) {
    outcomes.push_back(prove(subject, wanted));
    if (wanted.json) records.push_back(json_of(outcomes.back()));
    else write_text(lines_of(outcomes.back()), "");
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  write_text(wanted.json ? detail::text_of_json(records, 1) + "\n"
                         : summary_of(outcomes, elapsed.count(), wanted.build),
             "");
  return static_cast<int>(exit_code_of(outcomes));
}

}  // namespace

void add_verify(CLI::App& app, std::function<int()>& run) {
  const auto wanted = std::make_shared<VerifyWanted>();
  VerifyRange& range = wanted->range;
  CLI::App* command = app.add_subcommand("verify", "prove that algorithms are correct");
  const auto add = [command](const char* name, const char* usual, const char* help,
                             std::function<void(const std::string&)> read) {
    return command->add_option_function<std::string>(name, std::move(read), help)
        ->default_str(usual);
  };
  add("--ranks", "1:64", "every number of ranks in FIRST:LAST, every root",
      [&range](const std::string& text) {
        const RankRange ranks = perf::range_in("--ranks", text, kRanks);
        range.min_size = ranks.first;
        range.max_size = ranks.last;
      });
  add("-C,--collective", "all", "names with commas, or all",
      [wanted](const std::string& text) { wanted->collectives = perf::collectives_named(text); });
  add("--algorithm", "", "names, or choices such as knomial:k=5, with commas",
      [wanted](const std::string& text) { wanted->algorithms = perf::with_graphs_of_files(text); });
  add("--sample-to", "0", "most ranks of a sample of larger shapes",
      [&range](const std::string& text) {
        range.sample_to = number_in("--sample-to", text, {0, kRanks.last});
      });
  const CLI::Option* slim_flies =
      add("--slim-fly-to", "", "most ranks of Slim Flies (242 for 1:64)",
          [&range](const std::string& text) {
            range.slim_fly_to = number_in("--slim-fly-to", text, {0, kRanks.last});
          });
  add("--seed", "1", "seed of the sample, and of random skips and graphs",
      [&range](const std::string& text) {
        range.seed = perf::count_in("--seed", text, 0, 1'000'000'000);
      });
  add("--build", "0", "also build all schedules for this number of ranks",
      [wanted](const std::string& text) { wanted->build = number_in("--build", text, kBuilds); });
  add("--load", "", perf::kLoadHelp,
      [wanted](const std::string& text) { wanted->catalog = perf::load_catalog(text); });
  command->add_flag("--json", wanted->json, "an array with one object per row");
  command->callback([wanted, slim_flies, &run] {
    VerifyRange& all = wanted->range;
    if (slim_flies->count() == 0 && all.min_size == 1 && all.max_size == 64) all.slim_fly_to = 242;
    all.catalog = wanted->catalog.get();
    wanted->subjects = subjects_of(*wanted);
    run = perf::on_first_rank([wanted] { return verify(*wanted); });
  });
}

}  // namespace tutti::command
