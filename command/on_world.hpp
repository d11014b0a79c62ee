/// @file
/// Starts and ends the ranks of a command that measures.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "perf/sweep/options.hpp"
#include "perf/world.hpp"

namespace tutti::perf {

/// Ends all ranks, so that none waits for a message that never arrives. @param who, @param rank and
/// @param error as fail_alone. @return this rank's exit status.
[[nodiscard]] int fail_for_all(const std::string& who, std::optional<int> rank,
                               const std::exception& error);

/// Runs a task on rank 0, such as writing files. Collective. @param who as fail_alike. @param task
/// returns an exit status. @return it, on all ranks; if the task throws, the status of the error,
/// which rank 0 prints.
[[nodiscard]] int on_rank_zero(World& world, const std::string& who,
                               const std::function<int()>& task);

/// Joins the launched ranks, or becomes `tutti run` of this very command where nobody launched the
/// ranks that are asked for. @param who such as "tutti sweep". @param options of which transport,
/// timeout, catalog and ranks count. @param work what every rank does; a Failure{usage} is one that
/// all ranks throw. @return the exit status.
[[nodiscard]] int on_world(const std::string& who, const SweepOptions& options,
                           const std::function<int(World&)>& work);

}  // namespace tutti::perf
