// The driver's functions of pinned memory.
#include <vector>

#include <sys/mman.h>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

// Whether all of it is memory of the host.
bool is_host_memory(void* start, std::size_t bytes) {
  if (driver().memory.is_on_device(address_of(start))) return false;
  const auto page = CUdeviceptr{page_bytes()};
  const CUdeviceptr first = address_of(start) / page * page;
  const CUdeviceptr length = address_of(start) + bytes - first;
  std::vector<unsigned char> resident(length / page + 1);
  return mincore(pointer_of(first), length, resident.data()) == 0;
}

CUresult unpin(void* start, Memory::Origin origin) {
  Memory& memory = driver().memory;
  const bool allocated = origin == Memory::Origin::allocated;
  if (!memory.is_pinned(start, origin))
    return allocated ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  wait_for_all_devices();  // what they have to do may still access the memory
  if (allocated) memory.free_pinned(start);
  else memory.unregister_pinned(start);
  return CUDA_SUCCESS;
}

}  // namespace

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
  return call_that_releases_outside_captures(
      __func__, [&](Context&) { return unpin(start, Memory::Origin::allocated); });
}

CUresult cuMemHostRegister(void* start, size_t bytes, unsigned int flags) {
  return call_outside_captures(__func__, [&](Context& context) {
    constexpr unsigned kUnsupported = CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    constexpr unsigned kAll =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | kUnsupported;
    if (start == nullptr || bytes == 0 || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & kUnsupported) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (!is_host_memory(start, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return driver().memory.register_pinned(start, bytes, context.device())
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult cuMemHostUnregister(void* start) {
  return call_that_releases_outside_captures(__func__, [&](Context&) {
    if (start == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return unpin(start, Memory::Origin::registered);
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
