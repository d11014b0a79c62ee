/// @file
/// How a part of the stand-in says that it cannot go on.
#pragma once

#include <stdexcept>
#include <string>

#include <nccl.h>

namespace tutti::nccl_standin {

class Failure : public std::runtime_error {
 public:
  /// @param result what NCCL returns in this case. @param reason a sentence, for ncclGetLastError.
  Failure(ncclResult_t result, const std::string& reason)
      : std::runtime_error{reason}, result_{result} {}

  ncclResult_t result() const noexcept { return result_; }

 private:
  ncclResult_t result_;
};

/// Throws unless a condition holds.
inline void require(bool condition, ncclResult_t result, const char* reason) {
  if (!condition) throw Failure{result, reason};
}

}  // namespace tutti::nccl_standin
