// The driver's functions of pinned memory.
#include <mutex>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

CUresult cuMemHostAlloc(void** start, size_t bytes, unsigned int flags) {
  return call_outside_captures(__func__, [&](Context& context) {
    constexpr unsigned kAll =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (start == nullptr || bytes == 0 || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    *start = driver().memory.allocate_pinned(bytes, context.device());
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void* start) {
  return call_that_releases_outside_captures(__func__, [&](Context& context) {
    const std::scoped_lock alone{context.enqueuing()};
    if (!driver().memory.is_pinned(start, Memory::Origin::allocated))
      return CUDA_ERROR_INVALID_VALUE;
    wait_for_all_devices();  // what they have to do may still access the memory
    driver().memory.free_pinned(start);
    return CUDA_SUCCESS;
  });
}

// A device uses the same addresses as the host.
CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* start, unsigned int flags) {
  return call_in_context(__func__, [&](Context&) {
    if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const Place place = driver().memory.find(address_of(start));
    if (place.type != CU_MEMORYTYPE_HOST) return CUDA_ERROR_INVALID_VALUE;
    *address = address_of(start);
    return CUDA_SUCCESS;
  });
}
