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

/// @param error a Failure, an Error, or what the standard library throws. @return the exit status
/// for it; on a rank that was aborted, for what the first rank met.
[[nodiscard]] ExitCode exit_code_of(const std::exception& error) noexcept;

/// Prints, on one rank, an error that follows from the command line and so is the same on all. That
/// rank fails for all: if the others failed too, a launcher could end it before it has printed.
/// @param who such as "tutti sweep". @param error whose first line is printed. @return this rank's
/// exit status.
[[nodiscard]] int report_on_all(const std::string& who, const std::exception& error);

/// Prints an error that may be this rank's alone. @param who such as "tutti sweep". @param rank the
/// own one, if it is known. @param error whose first line is printed. @return the exit status.
[[nodiscard]] int report_on_one(const std::string& who, std::optional<int> rank,
                                const std::exception& error);

/// Runs a task on rank 0, such as writing files. Collective. @param who as report_on_all. @param
/// task returns an exit status. @return it, on all ranks; if the task throws, the status of the
/// error, which rank 0 prints.
[[nodiscard]] int on_rank_zero(MeasuredWorld& world, const std::string& who,
                               const std::function<int()>& task);

}  // namespace tutti::perf
