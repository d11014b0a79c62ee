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
#include "command/msccl.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "schedules/print.hpp"

namespace tutti::perf {
namespace {

constexpr int kMostDrawn = 64;  // beyond it no screen shows the picture

struct ShowFlags {
  std::string collective;
  std::string algorithm;
  std::string ranks = "8";
  std::string root = "0";
  std::string rank;
  std::string format = "text";
  std::string output;
  std::string load;
};

/// The flags as understood.
struct ShowWanted {
  std::shared_ptr<const Catalog> catalog{};
  Choice choice{};
  int ranks = 1;
  Rank root = 0;
  std::optional<Rank> only{};
};

ShowWanted understand_show(const ShowFlags& flags) {
  ShowWanted wanted{.catalog = load_catalog(flags.load)};
  const Collective collective = collective_named(flags.collective);
  wanted.choice = parse_choice(*wanted.catalog, collective, with_graphs_of_files(flags.algorithm));
  const Algorithm& row = *wanted.choice.algorithm;
  wanted.ranks = number_in("--ranks", flags.ranks, {1, kMostRanks});
  wanted.root = number_in("--root", flags.root, {0, wanted.ranks - 1});
  if (!flags.rank.empty()) wanted.only = number_in("--rank", flags.rank, {0, wanted.ranks - 1});
  const std::vector<std::string> formats{"text", "json", "svg", "msccl"};
  if (std::find(formats.begin(), formats.end(), flags.format) == formats.end())
    reject_word("format", flags.format, formats);
  if (flags.format == "msccl" && !flags.rank.empty())
    throw Failure{ExitCode::usage, "--format msccl has all ranks: leave --rank out"};
  if (flags.format == "svg" && wanted.ranks > kMostDrawn)
    throw Failure{ExitCode::usage, fmt::format("a picture of {} ranks would be unreadable: use "
                                               "--ranks {} or fewer",
                                               wanted.ranks, kMostDrawn)};
  if (!admits(row.traits.sizes, wanted.ranks))
    throw Failure{ExitCode::usage,
                  fmt::format("{} {} supports {}, not {}", row.name, name_of(collective),
                              words_of(row.traits.sizes), wanted.ranks)};
  if (wanted.root != 0 && !is_rooted(collective))
    throw Failure{ExitCode::usage,
                  fmt::format("{} has no root: leave --root out", name_of(collective))};
  // Building one rank's schedule judges the parameters as well.
  try {
    (void)wanted.choice.build(wanted.ranks, wanted.root, 0);
  } catch (const Error& error) {
    throw Failure{ExitCode::usage,
                  fmt::format("{} {} cannot serve {} ranks: {}", wanted.choice.text(),
                              name_of(collective), wanted.ranks, error.what())};
  }
  return wanted;
}

int show(const ShowFlags& flags, const ShowWanted& wanted) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < wanted.ranks; ++rank)
    schedules.push_back(wanted.choice.build(wanted.ranks, wanted.root, rank));
  const Printed printed{.algorithm = wanted.choice.text(),
                        .collective = wanted.choice.algorithm->collective,
                        .root = wanted.root,
                        .schedules = schedules,
                        .only = wanted.only};
  write_text(flags.format == "text"   ? to_text(printed)
             : flags.format == "json" ? to_json(printed)
             : flags.format == "svg"  ? to_svg(printed)
                                      : to_msccl(printed),
             flags.output);
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_show(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<ShowFlags>();
  CLI::App* command =
      app.add_subcommand("show", "print or draw a schedule: text, JSON, SVG or XML");
  command->add_option("collective", flags->collective, "such as all_reduce")->required();
  command->add_option("algorithm", flags->algorithm, "such as ring or knomial:k=4")->required();
  command->add_option("--ranks", flags->ranks, "number of ranks")->capture_default_str();
  command->add_option("--root", flags->root, "root of rooted collectives")->capture_default_str();
  command->add_option("--rank", flags->rank, "one rank only; a picture highlights it");
  command->add_option("--format", flags->format, "text, json, svg or msccl")->capture_default_str();
  command->add_option("--load", flags->load, kLoadHelp);
  command->add_option("--output", flags->output, "file to write instead of standard output");
  command->callback([flags, &run] {
    run = on_first_rank([flags, wanted = understand_show(*flags)] { return show(*flags, wanted); });
  });
}

}  // namespace tutti::perf
