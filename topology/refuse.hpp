/// @file
/// How networks are refused.
#pragma once

#include <string>

#include <tutti/error.hpp>

namespace tutti::inline v0 {

/// Throws Error{invalid_argument}. @param what is wrong.
[[noreturn]] inline void refuse_network(const std::string& what) {
  throw Error{ErrorCode::invalid_argument, what};
}

}  // namespace tutti::inline v0
