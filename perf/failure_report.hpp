/// @file
/// Exit status and error output of a command that fails.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "perf/exit_code.hpp"
#include "perf/measured_world.hpp"

namespace tutti::perf {

/// @param error a Failure, an Error, or an exception of the standard library. @return the exit
/// status for it; on a rank that was aborted, the status for the error that the first rank met.
[[nodiscard]] ExitCode exit_code_of(const std::exception& error) noexcept;

/// Prints an error of the command line, which all ranks have, on rank 0. Only that rank's status
/// reports failure: if the others failed too, a launcher could end rank 0 before it has printed.
/// @param who prefix, such as "tutti sweep". @param error whose first line is printed. @return this
/// rank's exit status.
[[nodiscard]] int report_on_all(const std::string& who, const std::exception& error);

/// Prints an error that only this rank may have. @param who as report_on_all. @param rank this
/// rank, if it is known. @param error whose first line is printed. @return the exit status.
[[nodiscard]] int report_on_one(const std::string& who, std::optional<int> rank,
                                const std::exception& error);

/// Runs a task on rank 0, such as writing files. Collective. @param who as report_on_all. @param
/// task returns an exit status. @return that status, on all ranks; if the task throws, rank 0
/// prints the error, and its status is returned.
[[nodiscard]] int on_rank_zero(MeasuredWorld& world, const std::string& who,
                               const std::function<int()>& task);

}  // namespace tutti::perf
