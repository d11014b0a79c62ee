/// @file
/// The error of a malformed network.
#pragma once

#include <string>

#include <tutti/error.hpp>

namespace tutti::v0 {

/// Throws Error{invalid_argument}. @param what the fault.
[[noreturn]] inline void reject_network(const std::string& what) {
  throw Error{ErrorCode::invalid_argument, what};
}

}  // namespace tutti::v0
