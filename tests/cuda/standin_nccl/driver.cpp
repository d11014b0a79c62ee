#include "driver.hpp"

#include <algorithm>
#include <string>

#include "failure.hpp"

namespace tutti::nccl_standin {

void check(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS)
    throw Failure{ncclUnhandledCudaError,
                  std::string{call} + " returned " + std::to_string(static_cast<int>(result))};
}

Device current_device() {
  Device device;
  CUuuid uuid{};
  check(cuCtxGetCurrent(&device.context), "cuCtxGetCurrent");
  check(cuCtxGetDevice(&device.number), "cuCtxGetDevice");
  check(cuDeviceGetUuid(&uuid, device.number), "cuDeviceGetUuid");
  std::copy_n(uuid.bytes, device.uuid.size(), device.uuid.begin());
  return device;
}

void require_context() {
  CUcontext context = nullptr;
  check(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  require(context != nullptr, ncclUnhandledCudaError, "no context is current");
}

ContextScope::ContextScope(CUcontext context) {
  check(cuCtxGetCurrent(&before_), "cuCtxGetCurrent");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

ContextScope::~ContextScope() {
  cuCtxSetCurrent(before_);
}

std::byte* reach(void* address, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  auto* const first = static_cast<std::byte*>(tutti_standin_alias(address));
  const void* const last = tutti_standin_alias(static_cast<std::byte*>(address) + (bytes - 1));
  require(first != nullptr && last == first + (bytes - 1), ncclUnhandledCudaError,
          "a buffer does not lie in memory that was allocated");
  return first;
}

bool records(CUstream stream) {
  CUstreamCaptureStatus status{};
  check(cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing");
  require(status != CU_STREAM_CAPTURE_STATUS_INVALIDATED, ncclUnhandledCudaError,
          "what the stream records is spoilt");
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace tutti::nccl_standin
