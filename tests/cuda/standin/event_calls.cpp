// The driver's functions of events.
#include <shared_mutex>

#include "tests/cuda/standin/driver.hpp"

using namespace tutti::standin;

namespace {

// As the driver's: those of an event that was never recorded have happened.
bool has_happened(const Event& event) {
  const auto mark = event.last();
  return mark == nullptr || mark->is_reached();
}

// Refused while streams record what the event may depend on, or the event itself.
template <class Body>
CUresult call_of_event(std::string_view function, CUevent handle, Body body) noexcept {
  return call_outside_captures(function, [&](Context&) {
    const auto event = driver().events.find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto refusal = driver().captures.reject(*event)) return *refusal;
    const CUresult error = event->context().error();
    return error == CUDA_SUCCESS ? body(*event) : error;
  });
}

CUresult elapsed(float& milliseconds, const Event& start, const Event& end) {
  const auto first = start.last();
  const auto second = end.last();
  if (!start.is_timed() || !end.is_timed() || first == nullptr || second == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!first->is_reached() || !second->is_reached()) return CUDA_ERROR_NOT_READY;
  milliseconds = std::chrono::duration<float, std::milli>(second->wait() - first->wait()).count();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) {
    constexpr unsigned kAll =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    const bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
    if (event == nullptr || (flags & ~kAll) != 0 || (shared && timed))
      return CUDA_ERROR_INVALID_VALUE;
    *event = driver().events.add(std::make_shared<Event>(context, timed));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent event) {
  return call_that_releases(__func__, [&](Context& context) {
    const std::shared_lock enqueuing{context.enqueuing()};
    return driver().events.pop(event) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    const auto found = driver().events.find(event);
    if (found == nullptr || &found->context() != &on.context()) return CUDA_ERROR_INVALID_HANDLE;
    if (const auto recorded = driver().captures.record_event(on, *found)) return *recorded;
    return on.enqueue(work_that_reaches(found->renew()));
  });
}

CUresult cuEventQuery(CUevent event) {
  return call_of_event(__func__, event, [](const Event& found) {
    return has_happened(found) ? found.context().error() : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return call_of_event(__func__, event, [](const Event& found) {
    if (const auto mark = found.last(); mark != nullptr) mark->wait();
    return found.context().error();
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call_of_event(__func__, start, [&](const Event& first) {
    const auto second = driver().events.find(end);
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return second == nullptr ? CUDA_ERROR_INVALID_HANDLE : elapsed(*milliseconds, first, *second);
  });
}
