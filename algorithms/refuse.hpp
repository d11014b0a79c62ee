/// @file
/// Rejects arguments.
#pragma once

#include <cstdint>
#include <string>

#include <tutti/error.hpp>

namespace tutti::v0 {

/// Throws Error{invalid_argument}. @param message one sentence that names the fault.
[[noreturn]] inline void reject(std::string message) {
  throw Error{ErrorCode::invalid_argument, std::move(message)};
}

/// @param noun in the singular. @return such as "1 rank" or "2 ranks".
[[nodiscard]] inline std::string count_of(std::int64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// @param size number of ranks. @return such as ", and there are 8 ranks".
[[nodiscard]] inline std::string there_are(int size) {
  return (size == 1 ? ", and there is " : ", and there are ") + count_of(size, "rank");
}

}  // namespace tutti::v0
