// The driver's functions of memory.
#include <algorithm>
#include <mutex>
#include <vector>

#include "tests/cuda/standin/driver.hpp"
#include "tests/cuda/standin/hooks.hpp"

using namespace tutti::standin;

namespace {

template <class T>
void give(void* to, T value) {
  *static_cast<T*>(to) = value;
}

// As the driver's: what is allocated in the order of a stream is in no context.
CUcontext context_of(const Place& place) {
  if (place.type == 0 || place.range.pool || place.opened) return nullptr;
  return driver().contexts[static_cast<std::size_t>(place.device)].handle();
}

CUresult give_attribute(CUpointer_attribute attribute, void* to, CUdeviceptr pointer,
                        const Place& place) {
  const bool on_device = place.type == CU_MEMORYTYPE_DEVICE;
  const bool on_host = place.type == CU_MEMORYTYPE_HOST;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: give(to, static_cast<unsigned>(place.type)); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: give(to, place.device); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      give(to, on_device || on_host ? pointer : CUdeviceptr{0});
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      give(to, on_host || place.managed ? pointer_of(pointer) : nullptr);
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: give(to, context_of(place)); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: give(to, pointer_of(place.range.start)); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: give(to, place.range.bytes); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: give(to, on_device || on_host); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: give(to, place.managed); break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: give(to, false); break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      give(to, on_device && place.is_shareable() && driver().lacks != "ipc");
      break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* start, size_t bytes) {
  return call_outside_captures(__func__, [&](Context& context) {
    if (start == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    Arena& arena = driver().memory.arena(context.device());
    const CUdeviceptr room = arena.reserve(bytes, nullptr);
    if (room == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    arena.open(room);
    *start = room;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* start, size_t bytes, unsigned int flags) {
  return call_outside_captures(__func__, [&](Context& context) {
    if (start == nullptr || bytes == 0 || flags != CU_MEM_ATTACH_GLOBAL)
      return CUDA_ERROR_INVALID_VALUE;
    *start = address_of(
        driver().memory.allocate_pinned(bytes, context.device(), Memory::Origin::managed));
    return CUDA_SUCCESS;
  });
}

// As the driver's, it waits for all that the device has to do.
CUresult cuMemFree(CUdeviceptr start) {
  return call_that_releases_outside_captures(__func__, [&](Context& context) {
    Memory& memory = driver().memory;
    const std::scoped_lock alone{context.enqueuing()};
    if (memory.is_pinned(pointer_of(start), Memory::Origin::managed)) {
      wait_for_all_devices();
      memory.free_pinned(pointer_of(start));
      return CUDA_SUCCESS;
    }
    Arena* const arena = memory.retire(start);
    if (arena == nullptr) return CUDA_ERROR_INVALID_VALUE;
    driver().streams.wait_for(memory.device_of(start));
    arena->close(start);
    return CUDA_SUCCESS;
  });
}

// Needs no current context. Unknown memory has attributes of zero.
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  return call(Needs::initialisation, __func__, [&] {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Place place = driver().memory.find(pointer);
    // The driver returns zeros for memory that a graph allocates, too.
    if (place.range.pool && place.range.pool == driver().memory.graph_pool(place.device))
      place = {};
    for (unsigned int i = 0; i < count; ++i) {
      if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = give_attribute(attributes[i], data[i], pointer, place);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

void* tutti_standin_alias(void* address) {
  if (!driver().memory.is_on_device(address_of(address))) return address;
  return driver().memory.reach(address_of(address), 1);
}
