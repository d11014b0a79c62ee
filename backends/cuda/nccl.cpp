#include "nccl.hpp"

#include <tutti/error.hpp>

namespace tutti::v0::cuda {
namespace {

constexpr int kOldest = 22300;
/// Version 2.26, whose nonblocking communicators sometimes hang.
constexpr int kHangs = 226;

/// @param version as NCCL counts: 22803 is 2.28.3.
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

int Nccl::checked_version(const Library& library) {
  const decltype(&::ncclGetVersion) ask = library["ncclGetVersion"];
  int version = 0;
  if (ask(&version) != ncclSuccess)
    throw Error{ErrorCode::transport, "cannot ask NCCL for its version"};
  if (version < kOldest)
    throw Error{ErrorCode::transport,
                "NCCL " + version_text(version) + " is too old; install 2.23 or newer"};
  return version;
}

std::string Nccl::version() const {
  return version_text(version_);
}

void Nccl::check(ncclResult_t result, const char* what, ncclComm_t communicator) const {
  if (result == ncclSuccess) return;
  std::string text = std::string{"cannot "} + what + ": " + calls_.error_string(result);
  if (const char* const last = calls_.last_error(communicator); last != nullptr && *last != '\0')
    text += std::string{"; "} + last;
  throw Error{result == ncclRemoteError ? ErrorCode::peer_dead : ErrorCode::transport, text};
}

void Nccl::check_nonblocking() const {
  if (version_ / 100 == kHangs)
    throw Error{ErrorCode::invalid_argument,
                "communicators of NCCL " + version() +
                    " that do not block hang now and then; leave AttachOptions::nonblocking and "
                    "NCCL_COMM_BLOCKING=0 out, or take another version"};
}

}  // namespace tutti::v0::cuda
