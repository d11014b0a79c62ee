// The driver's functions of streams.
#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) {
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = driver().streams.create(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  return call_that_releases(__func__, [&](Context&) {
    return driver().streams.destroy(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return call_on_stream(__func__, stream, [](const Stream& on) {
    on.wait();
    return on.context().error();
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return call_on_stream(__func__, stream, [](const Stream& on) {
    return on.is_idle() ? on.context().error() : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    const auto found = driver().events.find(event);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const auto mark = found->last();
    if (mark == nullptr) return CUDA_SUCCESS;
    return on.enqueue({.run =
                           [mark](const Stream&) {
                             mark->wait();
                             return CUDA_SUCCESS;
                           },
                       .always = true});
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return call_on_stream(__func__, stream, [&](const Stream&) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return call_on_stream(__func__, stream, [&](const Stream& on) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = on.context().handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return on.enqueue({.run = [function, argument](const Stream&) {
      set_in_host_function(true);
      function(argument);
      set_in_host_function(false);
      return CUDA_SUCCESS;
    }});
  });
}
