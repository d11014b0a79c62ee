// tutti show: the schedule of an algorithm as text, JSON or a picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>

#include "command/commands.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "schedules/print.hpp"
#include "schedules/print_msccl.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;

namespace {

constexpr int kMostDrawn = 64;  // larger pictures do not fit a screen

/// The values of the flags.
struct ShowWanted {
  std::shared_ptr<const Catalog> catalog = perf::load_catalog("");
  Collective collective{};
  std::string algorithm{};
  Choice choice{};
  int ranks = 8;
  Rank root = 0;
  std::optional<Rank> only{};
  std::string format = "text";
  std::string output{};
};

/// Checks flags that depend on each other: a rank is less than the number of ranks.
void complete(ShowWanted& wanted) {
  const Collective collective = wanted.collective;
  wanted.choice = parse_choice(*wanted.catalog, collective, wanted.algorithm);
  const Algorithm& row = *wanted.choice.algorithm;
  const perf::RankRange ranks{0, wanted.ranks - 1};
  perf::require_in("--root", wanted.root, ranks);
  if (wanted.only) perf::require_in("--rank", *wanted.only, ranks);
  if (wanted.format == "msccl" && wanted.only)
    throw Failure{ExitCode::usage, "--format msccl has all ranks: leave --rank out"};
  if (wanted.format == "svg" && wanted.ranks > kMostDrawn)
    throw Failure{ExitCode::usage, fmt::format("a picture of {} ranks would be unreadable: use "
                                               "--ranks {} or fewer",
                                               wanted.ranks, kMostDrawn)};
  if (!admits(row.traits.sizes, wanted.ranks))
    throw Failure{ExitCode::usage,
                  fmt::format("{} {} supports {}, not {}", row.name, name_of(collective),
                              perf::words_of(row.traits.sizes), wanted.ranks)};
  if (wanted.root != 0 && !is_rooted(collective))
    throw Failure{ExitCode::usage,
                  fmt::format("{} has no root: leave --root out", name_of(collective))};
  // Building the schedule of one rank also checks the parameters.
  try {
    (void)wanted.choice.build(wanted.ranks, wanted.root, 0);
  } catch (const Error& error) {
    throw Failure{ExitCode::usage,
                  fmt::format("{} {} cannot serve {} ranks: {}", wanted.choice.text(),
                              name_of(collective), wanted.ranks, error.what())};
  }
}

int show(const ShowWanted& wanted) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < wanted.ranks; ++rank)
    schedules.push_back(wanted.choice.build(wanted.ranks, wanted.root, rank));
  const Printed printed{.algorithm = wanted.choice.text(),
                        .collective = wanted.choice.algorithm->collective,
                        .root = wanted.root,
                        .schedules = schedules,
                        .only = wanted.only};
  perf::write_text(wanted.format == "text"   ? to_text(printed)
                   : wanted.format == "json" ? to_json(printed)
                   : wanted.format == "svg"  ? to_svg(printed)
                                             : to_msccl(printed),
                   wanted.output);
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_show(CLI::App& app, std::function<int()>& run) {
  const auto wanted = std::make_shared<ShowWanted>();
  CLI::App* command =
      app.add_subcommand("show", "print or draw a schedule: text, JSON, SVG or XML");
  const auto add = [command](const char* name, const char* help,
                             std::function<void(const std::string&)> read) {
    return command->add_option_function<std::string>(name, std::move(read), help);
  };
  const auto rank_in = [](const char* flag, const std::string& text) {
    return perf::number_in(flag, text, {0, kMostRanks - 1});
  };
  add("collective", "such as all_reduce", [wanted](const std::string& text) {
    wanted->collective = perf::collective_named(text);
  })->required();
  add("algorithm", "such as ring or knomial:k=4", [wanted](const std::string& text) {
    wanted->algorithm = perf::with_graphs_of_files(text);
  })->required();
  add("--ranks", "number of ranks", [wanted](const std::string& text) {
    wanted->ranks = perf::number_in("--ranks", text, {1, kMostRanks});
  })->default_str("8");
  add("--root", "root of rooted collectives", [=](const std::string& text) {
    wanted->root = rank_in("--root", text);
  })->default_str("0");
  add("--rank", "one rank only; a picture highlights it",
      [=](const std::string& text) { wanted->only = rank_in("--rank", text); });
  add("--format", "text, json, svg or msccl", [wanted](const std::string& text) {
    perf::index_among("format", text, {"text", "json", "svg", "msccl"});
    wanted->format = text;
  })->default_str("text");
  add("--load", perf::kLoadHelp,
      [wanted](const std::string& text) { wanted->catalog = perf::load_catalog(text); });
  command->add_option("--output", wanted->output, "file to write instead of standard output");
  command->callback([wanted, &run] {
    complete(*wanted);
    run = perf::on_first_rank([wanted] { return show(*wanted); });
  });
}

}  // namespace tutti::command
