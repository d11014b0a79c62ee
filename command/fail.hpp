/// @file
/// How the command ends when it cannot go on: who says what, and with which exit status.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "perf/exit_code.hpp"

namespace tutti::perf {

/// @param error a Failure, an Error, or what the standard library throws. @return the exit status
/// for it; on a rank that was aborted, for what the first rank met.
[[nodiscard]] ExitCode exit_code_of(const std::exception& error) noexcept;

/// Trouble that follows from the command line, which all ranks of a launch share: one of them
/// speaks and fails for all. Did the others fail too, a launcher could end the speaker before it
/// has spoken. @param who such as "tutti sweep". @param error what was wrong; its first line is
/// told. @return this rank's exit status.
[[nodiscard]] int fail_alike(const std::string& who, const std::exception& error);

/// Trouble that may be this rank's alone, so this rank tells it. @param who such as "tutti sweep".
/// @param rank the own one, where it is known. @param error what was wrong; its first line is told.
/// @return the exit status.
[[nodiscard]] int fail_alone(const std::string& who, std::optional<int> rank,
                             const std::exception& error);

}  // namespace tutti::perf
