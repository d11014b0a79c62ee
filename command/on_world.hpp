/// @file
/// Starts and ends the ranks of a command that measures.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "perf/measured_world.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::command {

/// Ends all ranks, so that none waits for a message that never arrives. @param who, @param rank and
/// @param error as report_on_one. @return this rank's exit status.
[[nodiscard]] int fail_for_all(const std::string& who, std::optional<int> rank,
                               const std::exception& error);

/// Joins the launched ranks, or becomes `tutti run` of this very command where nobody launched the
/// ranks that are asked for. @param who such as "tutti sweep". @param options of which transport,
/// timeout, catalog and ranks count. @param work what every rank does; a Failure{usage} is one that
/// all ranks throw. @return the exit status.
[[nodiscard]] int on_world(const std::string& who, const perf::SweepOptions& options,
                           const std::function<int(perf::MeasuredWorld&)>& work);

}  // namespace tutti::command
