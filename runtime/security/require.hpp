/// @file
/// Failures of OpenSSL as errors.
#pragma once

#include <string>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// Throws Error{transport} unless good. @param what OpenSSL was to do.
inline void require(bool good, const char* what) {
  if (!good) throw Error{ErrorCode::transport, std::string{"OpenSSL failed to "} + what};
}

}  // namespace tutti::runtime
