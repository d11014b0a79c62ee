/// @file
/// Errors that end a command.
#pragma once

#include <stdexcept>
#include <string>

#include "perf/exit_code.hpp"

namespace tutti::perf {

/// Ends the command with a message and an exit code.
class Failure : public std::runtime_error {
 public:
  /// @param message states the error and how to correct it.
  Failure(ExitCode code, const std::string& message) : std::runtime_error{message}, code_{code} {}
  /// @return the exit code of the process.
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

}  // namespace tutti::perf
