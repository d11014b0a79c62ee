/// @file
/// Starts and ends the ranks of commands that measure.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "perf/measured_world.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::command {

/// Prints the error and ends all ranks, so that no rank waits for a message that never arrives. The
/// parameters are those of report_on_one. @return the exit status of this rank.
[[nodiscard]] int fail_for_all(const std::string& who, std::optional<int> rank,
                               const std::exception& error);

/// @param options ranks and transport are read. @return whether start_ranks must start the ranks.
[[nodiscard]] bool starts_ranks(const perf::SweepOptions& options);

/// Replaces this process by `tutti run` of its own command line. @return the exit status if that
/// fails.
[[nodiscard]] int start_ranks(const std::string& who, int ranks);

/// Joins the launched ranks and runs `work` on each. Without a launcher and with more than one rank
/// in `options`, becomes `tutti run` of its own command line. @param who such as "tutti sweep".
/// @param options only transport, memory, timeout, catalog and ranks are read. @param work may
/// throw a Failure{usage} only on all ranks. @return the exit status.
[[nodiscard]] int on_world(const std::string& who, const perf::SweepOptions& options,
                           const std::function<int(perf::MeasuredWorld&)>& work);

}  // namespace tutti::command
