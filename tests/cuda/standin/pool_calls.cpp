// The driver's functions of memory in the order of streams, and of its pools.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

// Memory from here in a stream on.
CUresult allocate(CUdeviceptr* start, std::size_t bytes, const std::shared_ptr<Pool>& pool,
                  Stream& on) {
  if (start == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (driver().lacks == "pools") return CUDA_ERROR_NOT_SUPPORTED;
  const auto recorded = driver().captures.record_allocation(on, bytes, *start);
  if (recorded) return *recorded;
  Arena& arena = driver().memory.arena(on.context().device());
  const CUdeviceptr room = arena.reserve(bytes, pool);
  if (room == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *start = room;
  std::vector<Work> works;
  if (auto end = pool->take_free(on, bytes); end != nullptr)
    works.push_back(work_that_waits_for(std::move(end)));
  works.push_back({.run = [&arena, room](const Stream&) {
    arena.open(room);
    return CUDA_SUCCESS;
  }});
  return on.enqueue(std::move(works));
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* start, size_t bytes, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    return allocate(start, bytes, driver().memory.default_pool(on.context().device()), on);
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return call_in_context(__func__, [&](Context&) {
    if (pool == nullptr || properties == nullptr ||
        properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !driver().has_device(properties->location.id))
      return CUDA_ERROR_INVALID_VALUE;
    if (driver().lacks == "pools") return CUDA_ERROR_NOT_SUPPORTED;
    *pool = driver().pools.add(std::make_shared<Pool>(properties->location.id));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return call_in_context(__func__, [&](Context&) {
    const auto found = driver().pools.find(pool);
    if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        found->hold(*static_cast<const cuuint64_t*>(value) != 0);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        found->allow_dependencies(*static_cast<const int*>(value) != 0);
        return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t kept) {
  return call_in_context(__func__, [&](Context&) {
    const auto found = driver().pools.find(pool);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    driver().memory.arena(found->device()).trim(*found, kept);
    return CUDA_SUCCESS;
  });
}

// A device always has access to its own pools.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return call_in_context(__func__, [&](Context&) {
    const auto found = driver().pools.find(pool);
    if (found == nullptr || map == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const CUmemAccessDesc& access : std::span{map, count}) {
      const int device = access.location.id;
      const bool allows = access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE || !driver().has_device(device) ||
          (!allows && access.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) ||
          (!allows && device == found->device()) ||
          (device != found->device() &&
           driver().links.between(device, found->device()) == Link::none))
        return CUDA_ERROR_INVALID_VALUE;
      found->allow_access(device, allows);
    }
    return CUDA_SUCCESS;
  });
}

// Memory that is still allocated from it ends with its own free.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return call_that_releases(__func__, [&](Context&) {
    const auto found = driver().pools.pop(pool);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    found->hold(false);
    driver().memory.arena(found->device()).trim(*found, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* start, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    const auto found = driver().pools.find(pool);
    if (found == nullptr || found->device() != on.context().device())
      return CUDA_ERROR_INVALID_VALUE;
    return allocate(start, bytes, found, on);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr start, CUstream stream) {
  return call_that_releases(__func__, [&](Context& context) {
    const auto on = driver().streams.find(stream, context);
    if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto recorded = driver().captures.record_free(*on, start)) return *recorded;
    const Range range = driver().memory.find(start).range;
    Arena* const arena = driver().memory.retire(start);
    if (arena == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto end = std::make_shared<Mark>();
    if (range.pool) range.pool->note_free(*on, range.bytes, end);
    std::vector<Work> works;
    works.push_back({.run =
                         [arena, start](const Stream&) {
                           arena->close(start);
                           return CUDA_SUCCESS;
                         },
                     .always = true});
    works.push_back(work_that_reaches(end));
    return on->enqueue(std::move(works));
  });
}
