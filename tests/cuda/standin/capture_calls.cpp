// The driver's functions that let streams record.
#include <utility>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

bool is_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

// Asking does not end a recording.
template <class Body>
CUresult call_that_asks(std::string_view function, CUstream handle, Body body) noexcept {
  return call_in_context(function, [&](Context& context) {
    const auto stream = driver().streams.find(handle, context);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->is_default()) {
      const CUresult refusal = driver().captures.reject_default(context, false);
      if (refusal != CUDA_SUCCESS) return refusal;
    }
    return body(driver().captures.state(*stream));
  });
}

template <class T>
void give(T* to, T value) {
  if (to != nullptr) *to = value;
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

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return call_that_asks(__func__, stream, [&](const CaptureState& state) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = state.status;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                CUgraph* graph, const CUgraphNode** dependencies,
                                const CUgraphEdgeData** edges, size_t* count) {
  return call_that_asks(__func__, stream, [&](CaptureState state) {
    if (status == nullptr || (edges != nullptr && dependencies == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    *status = state.status;
    if (state.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    // The arrays stay until this thread asks again, which is longer than the driver says.
    static thread_local std::vector<CUgraphNode> nodes;
    static thread_local std::vector<CUgraphEdgeData> plain;
    nodes = std::move(state.tails);
    plain.assign(nodes.size(), {});
    give(id, cuuint64_t{state.id});
    give(graph, state.graph);
    give(dependencies, static_cast<const CUgraphNode*>(nodes.data()));
    give(edges, static_cast<const CUgraphEdgeData*>(plain.data()));
    give(count, nodes.size());
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
