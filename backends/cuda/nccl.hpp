/// @file
/// NCCL, which is loaded at run time.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>

#include <tutti/types.hpp>

#include "library.hpp"

namespace tutti::v0::cuda {

/// Functions of NCCL that are called here; see <nccl.h>.
struct NcclCalls {
  decltype(&::ncclGetVersion) version = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclGetUniqueId) unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) init = nullptr;
  decltype(&::ncclCommGetAsyncError) state = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclGroupStart) begin_group = nullptr;
  decltype(&::ncclGroupEnd) end_group = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;

  // The headers that this is compiled with may lack these. A function that NCCL lacks is null.
  decltype(&::ncclAllGather) all_to_all = nullptr;  ///< ncclAlltoAll, 2.28.
  decltype(&::ncclBroadcast) gather = nullptr;      ///< 2.28.
  decltype(&::ncclBroadcast) scatter = nullptr;     ///< 2.28.
  ncclResult_t (*allocate)(void** data, std::size_t bytes) = nullptr;
  ncclResult_t (*free)(void* data) = nullptr;
  ncclResult_t (*register_memory)(ncclComm_t communicator, void* data, std::size_t bytes,
                                  void** handle) = nullptr;  ///< ncclCommRegister.
  ncclResult_t (*deregister_memory)(ncclComm_t communicator, void* handle) = nullptr;  ///< Its end.
  ncclResult_t (*register_window)(ncclComm_t communicator, void* data, std::size_t bytes,
                                  void** window,
                                  int flags) = nullptr;  ///< ncclCommWindowRegister, 2.27.
  ncclResult_t (*deregister_window)(ncclComm_t communicator, void* window) = nullptr;  ///< Its end.
};

/// NCCL of this machine, 2.23 or newer: older ones write to memory of a peer's GPU in the same
/// process that belongs to a pool, and so is closed to them. Any thread may call it.
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
  /// Throws Error{invalid_argument} where this version fails with communicators that do not block.
  void check_nonblocking() const;
  /// @return such as "2.28.3".
  [[nodiscard]] std::string version() const;

 private:
  [[nodiscard]] int number() const;

  Library library_{"libnccl.so.2"};
  NcclCalls calls_{};
};

}  // namespace tutti::v0::cuda
