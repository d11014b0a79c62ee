/// @file
/// How a command that measures gets its ranks, and how all of them end.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "perf/sweep/options.hpp"
#include "perf/world.hpp"

namespace tutti::perf {

/// Ends all ranks, none of which may wait for a message that never comes. @param who as fail_alone.
/// @param rank likewise. @param error likewise. @return this rank's exit status.
[[nodiscard]] int fail_for_all(const std::string& who, std::optional<int> rank,
                               const std::exception& error);

/// Lets rank 0 deal with files. Whether that went well is everybody's business. Collective.
/// @param world the ranks. @param who as fail_alike. @param task of rank 0, which returns the exit
/// status. @return it on all ranks; where the task throws, that of the error, which rank 0 tells.
[[nodiscard]] int on_rank_zero(World& world, const std::string& who,
                               const std::function<int()>& task);

/// Joins the launched ranks, or becomes `tutti run` of this very command where nobody launched the
/// ranks that are asked for. @param who such as "tutti sweep". @param options of which transport,
/// timeout, catalog and ranks count. @param work what every rank does; a Failure{usage} is one that
/// all ranks throw. @return the exit status.
[[nodiscard]] int on_world(const std::string& who, const SweepOptions& options,
                           const std::function<int(World&)>& work);

}  // namespace tutti::perf
