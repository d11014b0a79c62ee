// `tutti lint`: finds collectives that are slower than a guideline allows.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "command/commands.hpp"
#include "command/on_world.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/tuning/lint.hpp"

namespace tutti::command {

namespace {

void complete(perf::LintOptions& options, const CLI::App& app) {
  perf::SweepOptions& sweep = options.sweep;
  if (app.count("--transport") == 0)
    sweep.transport = perf::is_mpi_launch() && !options.own_calls ? "mpi" : "auto";
  perf::check_together(sweep);
  if (!sweep.uneven.empty() || !sweep.messages.empty())
    throw perf::Failure{
        perf::ExitCode::usage,
        "--collective: guidelines cover collectives with equal blocks, without v-forms "
        "and messages"};
}

}  // namespace

void add_lint(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<perf::LintOptions>();
  perf::SweepOptions& sweep = options->sweep;
  CLI::App* command = app.add_subcommand("lint", "find MPI calls slower than their equivalents");
  perf::declare_flags(*command, sweep,
                      {"--collective", "--begin", "--end", "--factor", "--dtype", "--op",
                       "--transport", "--ranks", "--budget", "--timeout", "--seed", "--json"});
  perf::set_usual(*command, sweep, "--end", "4M");
  perf::set_usual(*command, sweep, "--budget", "60ms");
  command->get_option("--transport")->default_str("");  // under an MPI's launcher mpi, else auto
  command
      ->add_option_function<std::string>(
          "--threshold",
          [options](const std::string& text) {
            options->threshold = perf::share_in("--threshold", text);
          },
          "least slowdown that breaks a guideline")
      ->default_str("10%");
  command->add_flag("--own", options->own_calls, "check tutti's own calls, also under an MPI");
  command->callback([options, command, &run] {
    complete(*options, *command);
    run = [options] {
      return on_world("tutti lint", options->sweep, [&](perf::MeasuredWorld& world) {
        return perf::Linter{world, *options}.run();
      });
    };
  });
}

}  // namespace tutti::command
