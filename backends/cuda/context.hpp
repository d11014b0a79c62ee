/// @file
/// The primary context of a GPU.
#pragma once

#include <memory>
#include <string>

#include "deferred_frees.hpp"
#include "driver.hpp"

namespace tutti::v0::cuda {

/// The primary context of a GPU, which the CUDA runtime and NCCL use too. Thread-safe.
class Context {
 public:
  /// @param driver not null. Throws Error{transport}; Error{invalid_argument} if there is no GPU of
  /// this ordinal.
  Context(std::shared_ptr<const Driver> driver, int ordinal);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Makes the context current in this thread, and restores the previous one when it ends.
  class Current {
   public:
    /// Throws Error{transport}.
    explicit Current(const Context& context);
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current();
    /// @return the previous context, or null.
    [[nodiscard]] CUcontext before() const noexcept { return before_; }

   private:
    const DriverCalls& calls_;
    CUcontext before_ = nullptr;
    bool is_other_ = false;  // before
  };

  [[nodiscard]] const std::shared_ptr<const Driver>& shared_driver() const noexcept {
    return driver_;
  }
  [[nodiscard]] const Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  [[nodiscard]] int attribute(CUdevice_attribute attribute) const {
    return driver_->attribute(attribute, device_);
  }
  /// @return frees memory that belongs to no stream, when no stream waits for a thread of tutti.
  [[nodiscard]] const std::shared_ptr<DeferredFrees>& frees() const noexcept { return frees_; }
  /// @return its name, such as "NVIDIA H100 80GB HBM3".
  [[nodiscard]] std::string name() const { return driver_->name_of(device_); }

  /// Calls the driver in this context. @param what the text of an error, after "cannot". Throws
  /// Error{transport}.
  template <class Function, class... Arguments>
  void call(const char* what, Function DriverCalls::*function,
            const Arguments&... arguments) const {
    const Current current{*this};
    driver_->check((driver_->calls().*function)(arguments...), what);
  }
  /// Runs a function that releases something in this context, and ignores failures. @param end is
  /// not called if the context is gone.
  template <class End>
  void within(End end) const noexcept {
    CUcontext before = nullptr;
    driver_->calls().current_context(&before);
    if (driver_->calls().set_context(context_) == CUDA_SUCCESS) end();
    driver_->calls().set_context(before);
  }

 private:
  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::shared_ptr<DeferredFrees> frees_{};
};

/// Destroys an object of a context, which outlives it.
struct Destroy {
  const Context* context = nullptr;
  void operator()(CUstream stream) const noexcept { end(&DriverCalls::destroy_stream, stream); }
  void operator()(CUevent event) const noexcept { end(&DriverCalls::destroy_event, event); }
  void operator()(CUmemoryPool pool) const noexcept { end(&DriverCalls::destroy_pool, pool); }

 private:
  template <class Function, class Handle>
  void end(Function DriverCalls::*function, Handle handle) const noexcept {
    context->within([&] { (context->driver().calls().*function)(handle); });
  }
};
using OwnedStream = std::unique_ptr<CUstream_st, Destroy>;
using OwnedEvent = std::unique_ptr<CUevent_st, Destroy>;
using OwnedPool = std::unique_ptr<CUmemPoolHandle_st, Destroy>;

}  // namespace tutti::v0::cuda
