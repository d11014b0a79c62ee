#include "nccl.hpp"

#include <tutti/error.hpp>

namespace tutti::v0::cuda {
namespace {

constexpr int kOldest = 22300;
/// This one's communicators that do not block hang now and then.
constexpr int kHangs = 226;

/// NCCL counts as 22803 what is called 2.28.3.
std::string words_of(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Nccl::Nccl() {
  library_.find("ncclGetVersion", calls_.version);
  library_.find("ncclGetErrorString", calls_.error_string);
  if (const int version = number(); version < kOldest)
    throw Error{ErrorCode::transport,
                "NCCL " + words_of(version) + " is too old; install 2.23 or newer"};
  library_.find("ncclGetLastError", calls_.last_error);
  library_.find("ncclGetUniqueId", calls_.unique_id);
  library_.find("ncclCommInitRankConfig", calls_.init);
  library_.find("ncclCommGetAsyncError", calls_.state);
  library_.find("ncclCommDestroy", calls_.destroy);
  library_.find("ncclCommAbort", calls_.abort);
  library_.find("ncclGroupStart", calls_.begin_group);
  library_.find("ncclGroupEnd", calls_.end_group);
  library_.find("ncclSend", calls_.send);
  library_.find("ncclRecv", calls_.receive);
  library_.find("ncclAllReduce", calls_.all_reduce);
  library_.find("ncclReduce", calls_.reduce);
  library_.find("ncclBroadcast", calls_.broadcast);
  library_.find("ncclAllGather", calls_.all_gather);
  library_.find("ncclReduceScatter", calls_.reduce_scatter);
  library_.find("ncclMemAlloc", calls_.allocate);
  library_.find("ncclMemFree", calls_.free);
  library_.find("ncclCommRegister", calls_.register_memory);
  library_.find("ncclCommDeregister", calls_.deregister_memory);
  library_.find_newer("ncclAlltoAll", calls_.all_to_all);
  library_.find_newer("ncclGather", calls_.gather);
  library_.find_newer("ncclScatter", calls_.scatter);
  if (!library_.find_newer("ncclCommWindowRegister", calls_.register_window) ||
      !library_.find_newer("ncclCommWindowDeregister", calls_.deregister_window))
    calls_.register_window = nullptr;
}

int Nccl::number() const {
  int version = 0;
  check(calls_.version(&version), "ask NCCL for its version");
  return version;
}

std::string Nccl::version() const {
  return words_of(number());
}

void Nccl::check(ncclResult_t result, const char* what, ncclComm_t communicator) const {
  if (result == ncclSuccess) return;
  std::string text = std::string{"cannot "} + what + ": " + calls_.error_string(result);
  if (const char* const last = calls_.last_error ? calls_.last_error(communicator) : nullptr;
      last != nullptr && *last != '\0')
    text += std::string{"; "} + last;
  throw Error{result == ncclRemoteError ? ErrorCode::peer_dead : ErrorCode::transport, text};
}

void Nccl::check_nonblocking() const {
  if (number() / 100 == kHangs)
    throw Error{ErrorCode::invalid_argument,
                "communicators of NCCL " + version() +
                    " that do not block hang now and then; leave Options::nonblocking and "
                    "NCCL_COMM_BLOCKING=0 out, or take another version"};
}

}  // namespace tutti::v0::cuda
