// The driver's functions that let streams record.
#include <utility>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

bool is_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return call_on_stream(__func__, stream, [&](const Stream& on) {
    if (!is_mode(mode)) return CUDA_ERROR_INVALID_VALUE;
    if (on.is_default()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return driver().captures.begin(on, mode);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return call_on_stream(__func__, stream, [&](const Stream& on) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return driver().captures.end(on, *graph);
  });
}

// Asking does not end a recording.
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return call_in_context(__func__, [&](Context& context) {
    const auto stream = driver().streams.find(handle, context);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->is_default()) {
      const CUresult refusal = driver().captures.reject_default(context, false);
      if (refusal != CUDA_SUCCESS) return refusal;
    }
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = driver().captures.status(*stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call(Needs::initialisation, __func__, [&] {
    if (mode == nullptr || !is_mode(*mode)) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, mode_of_thread());
    return CUDA_SUCCESS;
  });
}
