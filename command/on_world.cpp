#include "command/on_world.hpp"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "command/with_gpus.hpp"
#include "perf/dispositions.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/failure_report.hpp"
#include "perf/interrupt.hpp"

namespace tutti::command {

using perf::Failure;
using perf::MeasuredWorld;
using perf::report_on_all;

namespace {

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

int work_on(MeasuredWorld& world, const std::string& who,
            const std::function<int(MeasuredWorld&)>& work) {
  try {
    perf::catch_interrupts();
    return work(world);
  } catch (const Failure& failure) {
    if (failure.code() == perf::ExitCode::usage) return report_on_all(who, failure);
    return fail_for_all(who, world.communicator().rank(), failure);
  } catch (const std::exception& error) {
    return fail_for_all(who, world.communicator().rank(), error);
  }
}

// Returns whether another rank caused the error and the launcher ends this process. Then the rank
// at fault or its launcher has printed the cause, and this rank need not print its own error.
bool is_ended_for(const std::exception& error, std::optional<int> rank) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  if (ours == nullptr || ours->culprit() < 0 || ours->culprit() == rank.value_or(0)) return false;
  if (ours->cause() != ErrorCode::peer_dead && ours->cause() != ErrorCode::aborted) return false;
  constexpr std::chrono::milliseconds kLaunchersTakeAtMost{2000}, kStep{10};
  for (auto waited = kStep * 0; waited < kLaunchersTakeAtMost; waited += kStep) {
    if (perf::interrupt_signal() != 0) return true;
    std::this_thread::sleep_for(kStep);
  }
  return false;
}

}  // namespace

int fail_for_all(const std::string& who, std::optional<int> rank, const std::exception& error) {
  const int code = is_ended_for(error, rank) ? static_cast<int>(perf::exit_code_of(error))
                                             : perf::report_on_one(who, rank, error);
  perf::end_job(code);
  return code;
}

bool starts_ranks(const perf::SweepOptions& options) {
  return options.ranks && *options.ranks > 1 && !perf::is_of_mpi(options.transport) &&
         !perf::launched_size();
}

int start_ranks(const std::string& who, int ranks) {
  std::vector<std::string> words = perf::own_command();
  const std::string program = words.empty() ? "" : words.front();
  words.insert(words.begin(), {program, "run", "-n", std::to_string(ranks)});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  perf::restore_ignored_signals();
  execv(program.c_str(), arguments.data());
  return report_on_all(
      who, Failure{perf::ExitCode::environment, "cannot start ranks: /proc is missing"});
}

int on_world(const std::string& who, const perf::SweepOptions& options,
             const std::function<int(MeasuredWorld&)>& work) {
  if (starts_ranks(options)) return start_ranks(who, *options.ranks);
  try {
    const Duration timeout = duration_of(options.timeout_s);
    std::unique_ptr<MeasuredWorld> world =
        perf::join_world(options.transport, {.timeout = timeout, .catalog = options.catalog});
    if (options.on_gpus) world = with_gpus(std::move(world), options, timeout);
    return work_on(*world, who, work);
  } catch (const Failure& failure) {
    return report_on_all(who, failure);
  } catch (const std::exception& error) {
    return fail_for_all(who, perf::launched_rank(), error);
  }
}

}  // namespace tutti::command
