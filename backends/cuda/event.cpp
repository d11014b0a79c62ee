#include "event.hpp"

#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Event::Event(std::shared_ptr<const Device> device, unsigned flags) : device_{std::move(device)} {
  CUevent event = nullptr;
  device_->call("make an event", &DriverCalls::create_event, &event, flags);
  event_ = {event, {device_.get()}};
}

Event::Event(std::shared_ptr<const Device> device, CUstream stream) : Event{std::move(device)} {
  record(stream);
}

void Event::record(CUstream stream) {
  device_->call("record an event", &DriverCalls::record_event, event_.get(), stream);
}

/// Queries in relaxed mode, which does not invalidate a capture by another thread.
bool Event::is_done() {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver.calls().exchange_capture_mode(&mode);
  const CUresult result = driver.calls().query_event(event_.get());
  driver.calls().exchange_capture_mode(&mode);
  if (result == CUDA_ERROR_NOT_READY) return false;
  driver.check(result, "run what was enqueued on a stream");
  return true;
}

void Event::hold(CUstream stream) const {
  device_->call("have a stream wait for another one", &DriverCalls::wait_event, stream,
                event_.get(), unsigned{CU_EVENT_WAIT_DEFAULT});
}

double Event::us_since(const Event& start) const {
  float milliseconds = 0;
  device_->call("ask how long work of a GPU took", &DriverCalls::elapsed, &milliseconds,
                start.event_.get(), event_.get());
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace tutti::v0::cuda
