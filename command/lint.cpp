// `tutti lint`: where collectives are slower than what they should not be slower than.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "command/commands.hpp"
#include "command/fail.hpp"
#include "command/on_world.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/tuning/lint.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

// As written.
struct LintFlags {
  SweepFlags sweep;
  std::string threshold = "10%";
  bool own = false;
};

LintOptions understand_lint(const LintFlags& flags) {
  SweepFlags sweep = flags.sweep;
  if (sweep.transport.empty()) sweep.transport = is_mpi_launch() && !flags.own ? "mpi" : "auto";
  LintOptions options{
      .sweep = understand(sweep), .own_calls = flags.own, .json_path = flags.sweep.json};
  const auto threshold = parse_share(flags.threshold);
  if (!threshold || *threshold < 0)
    throw Failure{ExitCode::usage,
                  "--threshold is '" + flags.threshold + "'; expected a share such as 10% or 0.1"};
  options.threshold = *threshold;
  if (!options.sweep.uneven.empty() || !options.sweep.messages.empty())
    throw Failure{ExitCode::usage,
                  "--collective: guidelines cover collectives with equal blocks, without v-forms "
                  "and messages"};
  return options;
}

int run_lint(const LintFlags& flags) {
  LintOptions options;
  try {
    options = understand_lint(flags);
  } catch (const Failure& failure) {
    return fail_alike("tutti lint", failure);
  }
  return on_world("tutti lint", options.sweep, [&](World& world) {
    return Linter{world, options}.run();
  });
}

}  // namespace

void add_lint(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<LintFlags>();
  SweepFlags& sweep = flags->sweep;
  sweep.end = "4M";
  sweep.budget = "60ms";
  sweep.transport = "";
  CLI::App* command = app.add_subcommand("lint", "find MPI calls slower than their equivalents");
  const auto add = [command](const char* names, std::string& value, const char* help) {
    command->add_option(names, value, help)->capture_default_str();
  };
  add("-C,--collective", sweep.collective, "names with commas, or all");
  add("-b,--begin", sweep.begin, "least bytes: 8, 64K, 4M, 1G");
  add("-e,--end", sweep.end, "greatest bytes");
  add("-f,--factor", sweep.factor, "factor between sizes");
  add("-d,--dtype", sweep.type, "type of the elements");
  add("-o,--op", sweep.op, "operator of reductions");
  add("--budget", sweep.budget, "time per size and call");
  add("--threshold", flags->threshold, "least slowdown that breaks a guideline");
  command->add_flag("--own", flags->own, "check tutti's own calls, also under an MPI");
  add("--transport", sweep.transport, "auto, shm, tcp, mpi; default: mpi under one");
  add("--ranks", sweep.ranks, "number of ranks to start, or to require");
  add("--timeout", sweep.timeout, "deadline of one operation");
  add("--seed", sweep.seed, "seed of the shuffled rounds");
  add("--json", sweep.json, "write all comparisons to a file");
  command->callback([flags, &run] { run = [flags] { return run_lint(*flags); }; });
}

}  // namespace tutti::perf
