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
  decltype(&::ncclCommFinalize) finalize = nullptr;
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

  // Of versions after 2.18, whose headers this may be compiled with; null where there are none.
  using BlocksCall = ncclResult_t (*)(const void* in, void* out, std::size_t count,
                                      ncclDataType_t type, ncclComm_t communicator,
                                      cudaStream_t stream);
  using RootedCall = ncclResult_t (*)(const void* in, void* out, std::size_t count,
                                      ncclDataType_t type, int root, ncclComm_t communicator,
                                      cudaStream_t stream);
  BlocksCall all_to_all = nullptr;                                     ///< 2.28.
  RootedCall gather = nullptr;                                         ///< 2.28.
  RootedCall scatter = nullptr;                                        ///< 2.28.
  ncclResult_t (*allocate)(void** data, std::size_t bytes) = nullptr;  ///< 2.19.
  ncclResult_t (*free)(void* data) = nullptr;                          ///< 2.19.
  ncclResult_t (*register_memory)(ncclComm_t communicator, void* data, std::size_t bytes,
                                  void** handle) = nullptr;  ///< ncclCommRegister, 2.19.
  ncclResult_t (*deregister_memory)(ncclComm_t communicator, void* handle) = nullptr;  ///< Its end.
  ncclResult_t (*register_window)(ncclComm_t communicator, void* data, std::size_t bytes,
                                  void** window,
                                  int flags) = nullptr;  ///< ncclCommWindowRegister, 2.27.
  ncclResult_t (*deregister_window)(ncclComm_t communicator, void* window) = nullptr;  ///< Its end.
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
  /// Waits until what does not block is done. @param result of a call. @param patience at most so
  /// long. @param communicator it was about; null: there is nothing to wait for. Throws as check,
  /// and Error{timeout}.
  void complete(ncclResult_t result, const char* what, ncclComm_t communicator,
                Duration patience) const;
  /// @return such as "2.28.3".
  [[nodiscard]] std::string version() const;

 private:
  [[nodiscard]] int number() const;
  void find_newer();

  Library library_{"libnccl.so.2"};
  NcclCalls calls_{};
};

}  // namespace tutti::v0::cuda
