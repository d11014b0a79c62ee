// The driver's functions of memory that other devices, or other processes, may access.
#include <cstring>

#include <unistd.h>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

// Attributes of two different devices.
CUresult attribute_of(Link link, CUdevice_P2PAttribute attribute, int& value) {
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: value = link == Link::nvlink ? 0 : 1; break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: value = link != Link::none; break;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: value = link == Link::nvlink; break;
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

bool can_access(int device, int peer) {
  return device != peer && driver().links.between(device, peer) != Link::none;
}

// A peer of the current context; null if it is none.
Context* find_peer(CUcontext handle, const Context& current) {
  Context* const peer = driver().find(handle);
  return peer == nullptr || peer == &current || !peer->is_active() ? nullptr : peer;
}

CUresult open(const SharedPiece& piece, const Context& context, CUdeviceptr& start) {
  if (piece.magic != SharedPiece::kMagic) return CUDA_ERROR_INVALID_HANDLE;
  if (piece.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!driver().has_device(piece.device)) return CUDA_ERROR_INVALID_DEVICE;
  if (piece.device != context.device() && !can_access(context.device(), piece.device))
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  start = driver().memory.windows().open(piece, context.device());
  return start == 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call(Needs::initialisation, __func__, [&] {
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!driver().has_device(device) || !driver().has_device(peer))
      return CUDA_ERROR_INVALID_DEVICE;
    *can = can_access(device, peer) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                                 CUdevice target) {
  return call(Needs::initialisation, __func__, [&] {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!driver().has_device(source) || !driver().has_device(target) || source == target)
      return CUDA_ERROR_INVALID_DEVICE;
    return attribute_of(driver().links.between(source, target), attribute, *value);
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
  return call_in_context(__func__, [&](const Context& context) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const Context* const peer = find_peer(handle, context);
    if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!can_access(context.device(), peer->device())) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return driver().memory.peers().enable(context.device(), peer->device())
               ? CUDA_SUCCESS
               : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return call_that_releases(__func__, [&](const Context& context) {
    const Context* const peer = find_peer(handle, context);
    if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return driver().memory.peers().disable(context.device(), peer->device())
               ? CUDA_SUCCESS
               : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}

// As the driver's, it takes any address in an allocation, and the handle is that of all of it.
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return call_in_context(__func__, [&](Context&) {
    if (driver().lacks == "ipc") return CUDA_ERROR_NOT_SUPPORTED;
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto piece = driver().memory.share(address);
    if (!piece) return CUDA_ERROR_INVALID_VALUE;
    *handle = {};
    std::memcpy(handle->reserved, &*piece, sizeof *piece);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* start, CUipcMemHandle handle, unsigned int flags) {
  return call_outside_captures(__func__, [&](const Context& context) {
    if (driver().lacks == "ipc") return CUDA_ERROR_NOT_SUPPORTED;
    if (start == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
      return CUDA_ERROR_INVALID_VALUE;
    SharedPiece piece;
    std::memcpy(&piece, handle.reserved, sizeof piece);
    return open(piece, context, *start);
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr start) {
  return call_that_releases_outside_captures(__func__, [&](Context&) {
    const auto window = driver().memory.windows().find(start);
    if (!window || window->start != start) return CUDA_ERROR_INVALID_VALUE;
    driver().streams.wait_for(window->opener);  // what it has to do may still access the memory
    driver().memory.windows().close(start);
    return CUDA_SUCCESS;
  });
}
