/// @file
/// Why a sweep cannot go on.
#pragma once

#include <stdexcept>
#include <string>

#include "perf/exit_code.hpp"

namespace tutti::perf {

/// Ends the sweep with a message and an exit code.
class Failure : public std::runtime_error {
 public:
  /// @param code of the process. @param message what was wrong and what would be right.
  Failure(ExitCode code, const std::string& message) : std::runtime_error{message}, code_{code} {}
  /// @return the exit code of the process.
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

}  // namespace tutti::perf
