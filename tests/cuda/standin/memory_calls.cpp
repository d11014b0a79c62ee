// The driver's functions of memory.
#include <algorithm>
#include <vector>

#include "tests/cuda/standin/driver.hpp"
#include "tests/cuda/standin/hooks.hpp"

using namespace tutti::standin;

namespace {

// The memory that an allocation is freed of, or null if it is none, or one that was freed.
Arena* retire(CUdeviceptr start) {
  Memory& memory = driver().memory;
  const int device = memory.device_of(start);
  if (device < 0 || !memory.arena(device).retire(start)) return nullptr;
  return &memory.arena(device);
}

// Memory from here in a stream on.
CUresult allocate(CUdeviceptr* start, std::size_t bytes, Stream& on) {
  if (start == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (driver().lacks == "pools") return CUDA_ERROR_NOT_SUPPORTED;
  const auto recorded = driver().captures.record_allocation(on, bytes, *start);
  if (recorded) return *recorded;
  Arena& arena = driver().memory.arena(on.context().device());
  const CUdeviceptr room = arena.reserve(bytes, true);
  if (room == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *start = room;
  return on.enqueue({.run = [&arena, room](const Stream&) {
    arena.open(room);
    return CUDA_SUCCESS;
  }});
}

template <class T>
void give(void* to, T value) {
  *static_cast<T*>(to) = value;
}

// As the driver's: what is allocated in the order of a stream is in no context.
CUcontext context_of(const Place& place) {
  if (place.type == 0 || place.range.pooled || place.opened) return nullptr;
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
      give(to, on_host ? pointer_of(pointer) : nullptr);
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: give(to, context_of(place)); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: give(to, pointer_of(place.range.start)); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: give(to, place.range.bytes); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: give(to, on_device || on_host); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: give(to, false); break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: give(to, false); break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      give(to, on_device && !place.range.pooled && !place.opened);
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
    const CUdeviceptr room = arena.reserve(bytes, false);
    if (room == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    arena.open(room);
    *start = room;
    return CUDA_SUCCESS;
  });
}

// As the driver's, it waits for all that the device has to do.
CUresult cuMemFree(CUdeviceptr start) {
  return call_that_releases_outside_captures(__func__, [&](Context&) {
    Arena* const arena = retire(start);
    if (arena == nullptr) return CUDA_ERROR_INVALID_VALUE;
    driver().streams.wait_for(driver().memory.device_of(start));
    arena->close(start);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* start, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) { return allocate(start, bytes, on); });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return call_in_context(__func__, [&](Context&) {
    if (pool == nullptr || properties == nullptr ||
        properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !driver().has_device(properties->location.id))
      return CUDA_ERROR_INVALID_VALUE;
    if (driver().lacks == "pools") return CUDA_ERROR_NOT_SUPPORTED;
    *pool = driver().pools.add(std::make_shared<const int>(properties->location.id));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return call_in_context(__func__, [&](Context&) {
    const bool is_known =
        attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && driver().pools.find(pool) != nullptr;
    return is_known && value != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return call_that_releases(__func__, [&](Context&) {
    return driver().pools.take(pool) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* start, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    const auto device = driver().pools.find(pool);
    if (device == nullptr || *device != on.context().device()) return CUDA_ERROR_INVALID_VALUE;
    return allocate(start, bytes, on);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr start, CUstream stream) {
  return call_that_releases(__func__, [&](Context& context) {
    const auto on = driver().streams.find(stream, context);
    if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto recorded = driver().captures.record_free(*on, start)) return *recorded;
    Arena* const arena = retire(start);
    if (arena == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return on->enqueue({.run =
                            [arena, start](const Stream&) {
                              arena->close(start);
                              return CUDA_SUCCESS;
                            },
                        .always = true});
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* start, size_t* bytes, CUdeviceptr address) {
  return call_in_context(__func__, [&](Context&) {
    const Place place = driver().memory.find(address);
    if (place.type != CU_MEMORYTYPE_DEVICE) return CUDA_ERROR_NOT_FOUND;
    if (start != nullptr) *start = place.range.start;
    if (bytes != nullptr) *bytes = place.range.bytes;
    return CUDA_SUCCESS;
  });
}

// Needs no current context. Of memory that the driver does not know it tells zeros.
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  return call(Needs::initialisation, __func__, [&] {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Place place = driver().memory.find(pointer);
    for (unsigned int i = 0; i < count; ++i) {
      if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = give_attribute(attributes[i], data[i], pointer, place);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return call(Needs::initialisation, __func__, [&] {
    const Place place = driver().memory.find(pointer);
    if (data == nullptr || place.type == 0) return CUDA_ERROR_INVALID_VALUE;
    return give_attribute(attribute, data, pointer, place);
  });
}

void tutti_standin_receive(CUdeviceptr to, const void* data, size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(data);
  const auto store = [to, held = std::vector<std::byte>(first, first + bytes)] {
    std::byte* const place = driver().memory.reach(to, held.size());
    if (place != nullptr) std::copy(held.begin(), held.end(), place);
  };
  driver().rdma.write(driver().memory.device_of(to), store);
}

void* tutti_standin_alias(void* address) {
  if (!driver().memory.is_on_device(address_of(address))) return address;
  return driver().memory.reach(address_of(address), 1);
}
