// The driver's functions of streams.
#include <algorithm>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

CUresult wait(Stream& on, const Event& event) {
  if (const auto recorded = driver().captures.wait_for_event(on, event)) return *recorded;
  const auto mark = event.last();
  return mark == nullptr ? CUDA_SUCCESS : on.enqueue(work_that_waits_for(mark));
}

// Waits for what the event stands for when the graph is launched.
CUresult wait_at_each_launch(const Stream& on, const std::shared_ptr<Event>& event) {
  const auto add = [event](std::vector<Work>& to) {
    if (const auto mark = event->last(); mark != nullptr) to.push_back(work_that_waits_for(mark));
  };
  return driver().captures.record(on, {.add = add, .after = {}}).value_or(CUDA_ERROR_INVALID_VALUE);
}

CUresult create(std::string_view function, CUstream* stream, unsigned int flags, int priority) {
  return call_in_context(function, [&](Context& context) {
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    const auto kind = flags == CU_STREAM_DEFAULT ? StreamKind::blocking : StreamKind::non_blocking;
    *stream = driver().streams.create(context, kind, priority);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  return create(__func__, stream, flags, 0);
}

// Other priorities than there are count as the nearest one.
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return create(__func__, stream, flags, std::clamp(priority, kGreatestPriority, 0));
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call_in_context(__func__, [&](Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  return call_that_releases(__func__, [&](Context& context) {
    if (const auto found = driver().streams.find(stream, context); found != nullptr)
      driver().captures.forget(*found);
    return driver().streams.destroy(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return call_on_stream(__func__, stream, [](const Stream& on) {
    if (const auto refusal = driver().captures.reject(on)) return *refusal;
    on.wait();
    return on.context().error();
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return call_on_stream(__func__, stream, [](const Stream& on) {
    if (const auto refusal = driver().captures.reject(on)) return *refusal;
    return on.is_idle() ? on.context().error() : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    const auto found = driver().events.find(event);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return flags == CU_EVENT_WAIT_EXTERNAL ? wait_at_each_launch(on, found) : wait(on, *found);
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
    return submit(on, {.run = [function, argument](const Stream&) {
                    run_host_function(function, argument);
                    return CUDA_SUCCESS;
                  }});
  });
}
