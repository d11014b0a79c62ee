// The driver's functions of memory.
#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  std::byte* const target = driver().memory.reach(to, bytes);
  const std::byte* const source = driver().memory.reach(from, bytes);
  if (target == nullptr || source == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memmove(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult fill(CUdeviceptr start, unsigned char value, std::size_t bytes) {
  std::byte* const target = driver().memory.reach(start, bytes);
  if (target == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memset(target, value, bytes);
  return CUDA_SUCCESS;
}

// The memory that an allocation is freed of, or null if it is none, or one that was freed.
Arena* retire(CUdeviceptr start) {
  Memory& memory = driver().memory;
  const int device = memory.device_of(start);
  if (device < 0 || !memory.arena(device).retire(start)) return nullptr;
  return &memory.arena(device);
}

template <class T>
void give(void* to, T value) {
  *static_cast<T*>(to) = value;
}

// As the driver's: what is allocated in the order of a stream is in no context.
CUcontext context_of(const Place& place) {
  if (place.type == 0 || place.range.pooled) return nullptr;
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
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* start, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) {
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
  return call_that_releases(__func__, [&](Context&) {
    Arena* const arena = retire(start);
    if (arena == nullptr) return CUDA_ERROR_INVALID_VALUE;
    driver().streams.wait_for(driver().memory.device_of(start));
    arena->close(start);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* start, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (start == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    Arena& arena = driver().memory.arena(on.context().device());
    const CUdeviceptr room = arena.reserve(bytes, true);
    if (room == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *start = room;
    return on.enqueue({.run = [&arena, room](const Stream&) {
      arena.open(room);
      return CUDA_SUCCESS;
    }});
  });
}

CUresult cuMemFreeAsync(CUdeviceptr start, CUstream stream) {
  return call_that_releases(__func__, [&](Context& context) {
    const auto on = driver().streams.find(stream, context);
    if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
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

CUresult cuMemHostAlloc(void** start, size_t bytes, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) {
    constexpr unsigned kAll =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (start == nullptr || bytes == 0 || (flags & ~kAll) != 0) return CUDA_ERROR_INVALID_VALUE;
    *start = driver().memory.allocate_pinned(bytes, context.device());
    return CUDA_SUCCESS;
  });
}

// As the driver's, it waits for all that the devices have to do.
CUresult cuMemFreeHost(void* start) {
  return call_that_releases(__func__, [&](Context&) {
    Driver& state = driver();
    if (!state.memory.is_pinned(start)) return CUDA_ERROR_INVALID_VALUE;
    for (const Context& context : state.contexts) state.streams.wait_for(context.device());
    state.memory.free_pinned(start);
    return CUDA_SUCCESS;
  });
}

// Memory of the host that is not pinned is read before the call returns where it is the source, and
// written by the stream, however late, where it is the destination.
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (to == 0 || from == 0) return CUDA_ERROR_INVALID_VALUE;
    const bool is_staged =
        driver().memory.find(from).type == 0 && driver().memory.device_of(from) < 0;
    if (!is_staged)
      return on.enqueue(
          {.run = [to, from, bytes](const Stream&) { return copy(to, from, bytes); }});
    const auto* const begin = static_cast<const std::byte*>(pointer_of(from));
    const auto stage = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    return on.enqueue({.run = [to, stage, bytes](const Stream&) {
      return copy(to, address_of(stage->data()), bytes);
    }});
  });
}

CUresult cuMemsetD8Async(CUdeviceptr start, unsigned char value, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (bytes == 0) return CUDA_SUCCESS;
    if (start == 0) return CUDA_ERROR_INVALID_VALUE;
    return on.enqueue(
        {.run = [start, value, bytes](const Stream&) { return fill(start, value, bytes); }});
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

// For the stand-in of NCCL: where it may touch what lies at an address.
extern "C" __attribute__((visibility("default"))) void* tutti_standin_alias(void* address) {
  if (driver().memory.device_of(address_of(address)) < 0) return address;
  return driver().memory.reach(address_of(address), 1);
}
