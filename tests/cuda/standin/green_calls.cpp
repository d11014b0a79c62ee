// The driver's functions of green contexts: parts of a device with streams of their own.
#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  return call(Needs::initialisation, __func__, [&] {
    if (resource == nullptr || type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
    if (!driver().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *resource = {};
    resource->type = type;
    return CUDA_SUCCESS;
  });
}

// A description says nothing here: each green context has all of its device.
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                   unsigned int count) {
  return call(Needs::initialisation, __func__, [&] {
    if (description == nullptr || resources == nullptr || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    *description = reinterpret_cast<CUdevResourceDesc>(resources);
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device,
                          unsigned int flags) {
  return call(Needs::initialisation, __func__, [&] {
    if (green == nullptr || description == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM)
      return CUDA_ERROR_INVALID_VALUE;
    if (!driver().has_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    auto context = std::make_shared<Context>(device);
    context->retain();
    *green = driver().greens.add(std::move(context));
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned int flags,
                                int priority) {
  return call(Needs::initialisation, __func__, [&] {
    const auto found = driver().greens.find(green);
    if (stream == nullptr || found == nullptr || flags != CU_STREAM_NON_BLOCKING)
      return CUDA_ERROR_INVALID_VALUE;
    *stream = driver().streams.create(*found, StreamKind::non_blocking, priority);
    return CUDA_SUCCESS;
  });
}
