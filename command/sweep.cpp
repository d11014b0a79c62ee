// `tutti sweep`: every candidate of every chosen collective over every size.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "command/commands.hpp"
#include "command/on_world.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/spawn.hpp"
#include "perf/sweep/baseline.hpp"
#include "perf/sweep/sweep.hpp"

namespace tutti::command {

using perf::SweepOptions;

namespace {

const std::string kWho = "tutti sweep";

// The options of the recorded run. Without a launcher, this run starts the same number of ranks.
SweepOptions of_recorded_run(const SweepOptions& options) {
  perf::RecordedRun run = perf::recorded_run(options.replay);
  const bool starts_ranks = !perf::launched_size() && run.ranks > 1;
  if (starts_ranks && !run.mpi.empty())
    throw perf::Failure{
        perf::ExitCode::usage,
        fmt::format("'{}' was measured by {} ranks under {}, which starts them: mpirun "
                    "-n {} tutti sweep --replay {}",
                    options.replay, run.ranks, run.mpi, run.ranks, perf::quoted({options.replay}))};
  if (starts_ranks) {
    std::erase_if(run.arguments,
                  [](const std::string& word) { return word.starts_with("--ranks="); });
    run.arguments.push_back(fmt::format("--ranks={}", run.ranks));
  }
  return perf::repeated(run.arguments, options);
}

int sweep(SweepOptions options) {
  try {
    if (!options.replay.empty()) options = of_recorded_run(options);
  } catch (const std::exception& error) {  // only this rank may fail: each host has its own file
    return fail_for_all(kWho, perf::launched_rank(), error);
  }
  return on_world(kWho, options,
                  [&](perf::MeasuredWorld& world) { return run_sweep(world, kWho, options); });
}

}  // namespace

void add_sweep(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<SweepOptions>();
  CLI::App* command =
      app.add_subcommand("sweep", "measure every algorithm beside the MPI's or NCCL's");
  perf::declare_flags(*command, *options);
  command->callback([options, command, &run] {
    perf::check_output(*options);
    if (!options->replay.empty()) {
      perf::reject_beside_replay(*command);
    } else {
      perf::check_together(*options);
      options->arguments = perf::repeat_arguments(*command);
    }
    run = [options] { return sweep(*options); };
  });
}

}  // namespace tutti::command
