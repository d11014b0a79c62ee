// The driver's names and texts of errors.
#include <algorithm>
#include <array>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

struct Entry {
  CUresult error;
  const char* name;
  const char* text;
};

constexpr std::array kErrors{
    Entry{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    Entry{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    Entry{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    Entry{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    Entry{CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    Entry{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    Entry{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    Entry{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    Entry{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    Entry{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    Entry{CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
          "the operation cannot be performed in the present state"},
    Entry{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    Entry{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    Entry{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
          "an illegal memory access was encountered"},
    Entry{CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
          "peer access is not supported between these two devices"},
    Entry{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
          "peer access is already enabled"},
    Entry{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
          "peer access has not been enabled"},
    Entry{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
          "part or all of the requested memory range is already mapped"},
    Entry{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
          "pointer does not correspond to a registered memory region"},
    Entry{CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED",
          "context is destroyed"},
    Entry{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    Entry{CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    Entry{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
          "operation not permitted when stream is capturing"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
          "operation failed due to a previous error during capture"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
          "operation would result in a merge of separate capture sequences"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
          "capture was not ended in the same stream as it began"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
          "capturing stream has unjoined work"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
          "dependency created on uncaptured work in another stream"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
          "operation would make the legacy stream depend on a capturing blocking stream"},
    Entry{CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
          "operation not permitted on an event last recorded in a capturing stream"},
    Entry{CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
          "attempt to terminate a thread-local capture sequence from another thread"},
    Entry{CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult describe(std::string_view function, CUresult error, const char** to,
                  const char* Entry::*what) {
  return call(Needs::nothing, function, [&] {
    if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto* const found = std::find_if(
        kErrors.begin(), kErrors.end(), [&](const Entry& entry) { return entry.error == error; });
    *to = found == kErrors.end() ? nullptr : found->*what;
    return *to == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** name) {
  return describe(__func__, error, name, &Entry::name);
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return describe(__func__, error, text, &Entry::text);
}
