/// @file
/// NCCL, which is loaded at run time.
#pragma once

#include <nccl.h>

#include <string>

#include "library.hpp"

namespace tutti::inline v0::cuda {

/// Functions of NCCL that are called here; see <nccl.h>.
struct NcclCalls {
  decltype(&::ncclGetVersion) version = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclGetUniqueId) unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) init = nullptr;
  decltype(&::ncclCommGetAsyncError) state = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclGroupStart) begin_group = nullptr;
  decltype(&::ncclGroupEnd) end_group = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
};

/// NCCL of this machine, 2.18 or newer: the first whose communicators start and end without
/// blocking. Any thread may call it.
class Nccl {
 public:
  /// Loads it. Throws Error{transport} that says what is missing.
  Nccl();

  /// @return its functions.
  [[nodiscard]] const NcclCalls& calls() const noexcept { return calls_; }
  /// @param result of a call, not ncclInProgress. @param what was to be done, after "cannot".
  /// @param communicator it was about, or null. Throws Error{peer_dead} where NCCL says that
  /// another rank is gone, and else Error{transport}, with NCCL's own words.
  void check(ncclResult_t result, const char* what, ncclComm_t communicator = nullptr) const;
  /// @return such as "2.28.3".
  [[nodiscard]] std::string version() const;

 private:
  [[nodiscard]] int number() const;

  Library library_{"libnccl.so.2"};
  NcclCalls calls_{};
};

}  // namespace tutti::inline v0::cuda
