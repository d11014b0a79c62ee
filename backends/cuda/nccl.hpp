/// @file
/// NCCL, which is loaded at run time.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>

#include <tutti/types.hpp>

#include "library.hpp"

struct ncclWindow_vidmem;  // which older headers do not declare

namespace tutti::v0::cuda {

/// The functions of NCCL that tutti calls; see <nccl.h>.
struct NcclCalls {
  /// Throws Error{transport} if the library lacks one that NCCL 2.23 has.
  explicit NcclCalls(const Library& library) : from{library} {}

  const Library& from;
  decltype(&::ncclGetErrorString) error_string = from["ncclGetErrorString"];
  decltype(&::ncclGetLastError) last_error = from["ncclGetLastError"];
  decltype(&::ncclGetUniqueId) unique_id = from["ncclGetUniqueId"];
  decltype(&::ncclCommInitRankConfig) init = from["ncclCommInitRankConfig"];
  decltype(&::ncclCommGetAsyncError) state = from["ncclCommGetAsyncError"];
  decltype(&::ncclCommDestroy) destroy = from["ncclCommDestroy"];
  decltype(&::ncclCommAbort) abort = from["ncclCommAbort"];
  decltype(&::ncclGroupStart) begin_group = from["ncclGroupStart"];
  decltype(&::ncclGroupEnd) end_group = from["ncclGroupEnd"];
  decltype(&::ncclSend) send = from["ncclSend"];
  decltype(&::ncclRecv) receive = from["ncclRecv"];
  decltype(&::ncclAllReduce) all_reduce = from["ncclAllReduce"];
  decltype(&::ncclReduce) reduce = from["ncclReduce"];
  decltype(&::ncclBroadcast) broadcast = from["ncclBroadcast"];
  decltype(&::ncclAllGather) all_gather = from["ncclAllGather"];
  decltype(&::ncclReduceScatter) reduce_scatter = from["ncclReduceScatter"];

  // Older headers do not declare these.
  ncclResult_t (*allocate)(void** data, std::size_t bytes) = from["ncclMemAlloc"];
  ncclResult_t (*free)(void* data) = from["ncclMemFree"];
  ncclResult_t (*register_memory)(ncclComm_t communicator, void* data, std::size_t bytes,
                                  void** handle) = from["ncclCommRegister"];
  ncclResult_t (*deregister_memory)(ncclComm_t communicator,
                                    void* handle) = from["ncclCommDeregister"];

  // Null if this version lacks them: windows before 2.27, the others before 2.28.
  ncclResult_t (*register_window)(ncclComm_t communicator, void* data, std::size_t bytes,
                                  ncclWindow_vidmem** window,
                                  int flags) = from.optional("ncclCommWindowRegister");
  ncclResult_t (*deregister_window)(ncclComm_t communicator, ncclWindow_vidmem* window) =
      from.optional("ncclCommWindowDeregister");
  decltype(&::ncclAllGather) all_to_all = from.optional("ncclAlltoAll");
  decltype(&::ncclBroadcast) gather = from.optional("ncclGather");
  decltype(&::ncclBroadcast) scatter = from.optional("ncclScatter");
};

/// NCCL of this machine, 2.23 or newer. Older versions write to a peer's GPU in the same process
/// although its memory belongs to a pool that gives them no access. Thread-safe.
class Nccl {
 public:
  /// Loads NCCL. Throws Error{transport} that names what is missing.
  Nccl() = default;

  [[nodiscard]] const NcclCalls& calls() const noexcept { return calls_; }
  /// Throws unless a call succeeded, with NCCL's message: Error{peer_dead} if NCCL reports that
  /// another rank is gone, otherwise Error{transport}. @param result not ncclInProgress. @param
  /// what the text of the error, after "cannot". @param communicator of the call, or null.
  void check(ncclResult_t result, const char* what, ncclComm_t communicator = nullptr) const;
  /// Throws Error{invalid_argument} if nonblocking communicators of this version hang.
  void check_nonblocking() const;
  /// @return whether this version lets ranks share a GPU if NCCL_MULTI_RANK_GPU_ENABLE is set.
  [[nodiscard]] bool may_share_gpus() const noexcept { return version_ >= 23000; }
  /// @return the version, such as "2.28.3".
  [[nodiscard]] std::string version() const;

 private:
  Library library_{"libnccl.so.2"};
  int version_ = checked_version(library_);
  NcclCalls calls_{library_};

  [[nodiscard]] static int checked_version(const Library& library);
};

}  // namespace tutti::v0::cuda
