#include "context.hpp"

#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {

Context::Context(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_{std::move(driver)}, ordinal_{ordinal} {
  const int devices = driver_->devices();
  if (ordinal < 0 || ordinal >= devices)
    throw Error{ErrorCode::invalid_argument, "there is no GPU " + std::to_string(ordinal) +
                                                 "; this process sees " + std::to_string(devices)};
  device_ = driver_->device(ordinal);
  driver_->check(driver_->calls().retain_context(&context_, device_), "make the context of a GPU");
  try {
    frees_ = DeferredFrees::of(driver_, device_);
  } catch (...) {
    driver_->calls().release_context(device_);
    throw;
  }
}

Context::~Context() {
  frees_.reset();
  driver_->calls().release_context(device_);
}

Context::Current::Current(const Context& context) : calls_{context.driver().calls()} {
  context.driver().check(calls_.current_context(&before_), "ask for the current context");
  is_other_ = before_ != context.context_;
  if (is_other_) context.driver().check(calls_.set_context(context.context_), "make a GPU current");
}

Context::Current::~Current() {
  if (is_other_) calls_.set_context(before_);
}

}  // namespace tutti::v0::cuda
