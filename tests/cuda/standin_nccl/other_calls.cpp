// NCCL's functions of versions, errors and memory.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "call.hpp"

using namespace tutti::nccl_standin;

namespace {

CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

void* pointer_of(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  return call(__func__, [&] {
    require(version != nullptr, ncclInvalidArgument, "the version is null");
    const std::string asked = setting("NCCL_VERSION");
    *version = asked.empty() ? NCCL_VERSION_CODE : std::atoi(asked.c_str());
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (stand-in)";
    case ncclSystemError: return "unhandled system error (stand-in)";
    case ncclInternalError: return "internal error (stand-in)";
    case ncclInvalidArgument: return "invalid argument (stand-in)";
    case ncclInvalidUsage: return "invalid usage (stand-in)";
    case ncclRemoteError: return "remote process exited or there was a network error (stand-in)";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t handle) {
  const char* reason = nullptr;
  if (handle != nullptr)
    guard([&] {
      reason = library().communicators.find(handle)->reason();
      return ncclSuccess;
    });
  return reason != nullptr ? reason : last_reason();
}

ncclResult_t ncclMemAlloc(void** start, size_t bytes) {
  return call(__func__, [&] {
    require(start != nullptr, ncclInvalidArgument, "the pointer is null");
    *start = nullptr;
    if (bytes == 0) return ncclSuccess;
    CUdeviceptr address = 0;
    // Large enough to begin at a page, as a window has to.
    const auto pages = std::max<std::size_t>(bytes, NCCL_WIN_REQUIRED_ALIGNMENT);
    check(cuMemAlloc(&address, pages), "cuMemAlloc");
    *start = pointer_of(address);
    library().memory.add(*start, pages);
    return ncclSuccess;
  });
}

ncclResult_t ncclMemFree(void* start) {
  return call(__func__, [&] {
    if (start == nullptr) return ncclSuccess;
    require(library().memory.remove(start), ncclInvalidArgument, "there is no such memory");
    check(cuMemFree(address_of(start)), "cuMemFree");
    return ncclSuccess;
  });
}
