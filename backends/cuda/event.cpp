#include "event.hpp"

#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Event::Event(std::shared_ptr<const Device> device, unsigned flags) : device_{std::move(device)} {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  driver.check(driver.calls().create_event(&event_, flags), "make an event");
}

Event::Event(std::shared_ptr<const Device> device, CUstream stream) : Event{std::move(device)} {
  record(stream);
}

void Event::record(CUstream stream) {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  driver.check(driver.calls().record_event(event_, stream), "record an event");
}

Event::~Event() {
  device_->destroy(event_);
}

bool Event::is_done() {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  // Else asking would end what threads capture.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver.calls().exchange_capture_mode(&mode);
  const CUresult result = driver.calls().query_event(event_);
  driver.calls().exchange_capture_mode(&mode);
  if (result == CUDA_ERROR_NOT_READY) return false;
  driver.check(result, "run what was enqueued on a stream");
  return true;
}

void Event::hold(CUstream stream) const {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  driver.check(driver.calls().wait_event(stream, event_, CU_EVENT_WAIT_DEFAULT),
               "have a stream wait for another one");
}

double Event::us_since(const Event& start) const {
  const Device::Current current{*device_};
  float milliseconds = 0;
  const Driver& driver = device_->driver();
  driver.check(driver.calls().elapsed(&milliseconds, start.event_, event_),
               "ask how long work of a GPU took");
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace tutti::v0::cuda
