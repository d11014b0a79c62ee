/// @file
/// Device: one GPU, as this process uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <tutti/spi/stream_arrays.hpp>
#include <tutti/types.hpp>

#include "driver.hpp"
#include "kernel_work.hpp"
#include "kernels.hpp"

namespace tutti::v0::cuda {

/// A GPU with its primary context, which the CUDA runtime and NCCL use too, and our kernels in it.
/// Calls from several threads at once are safe.
class Device {
 public:
  /// @param driver not null. @param ordinal in [0, driver->devices()). Throws Error{transport},
  /// also where it has no memory pools, and Error{invalid_argument} where there is no such GPU.
  Device(std::shared_ptr<const Driver> driver, int ordinal);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  /// Makes the context this thread's as long as it lives, then the one that was it before.
  class Current {
   public:
    /// @param device whose context, which mostly is current already. Throws Error{transport}.
    explicit Current(const Device& device);
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current();
    /// @return that other context, or null.
    [[nodiscard]] CUcontext before() const noexcept { return before_; }

   private:
    const DriverCalls& calls_;
    CUcontext before_ = nullptr;
    bool is_other_ = false;  // before
  };

  [[nodiscard]] const Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  /// @param attribute any. @return its value. Throws Error{transport}.
  [[nodiscard]] int attribute(CUdevice_attribute attribute) const {
    return driver_->attribute(attribute, device_);
  }
  /// @return what it is called, such as "NVIDIA H100 80GB HBM3".
  [[nodiscard]] std::string name() const { return driver_->name_of(device_); }
  /// Has kernels of this device read and write memory of another one of this process, from now on.
  /// @param ordinal of that one; its own is nothing to do. Throws Error{transport} where nothing
  /// joins them.
  void see(int ordinal) const;
  /// @return a stream of this device, for destroy, that waits for no other one. Throws
  /// Error{transport}.
  [[nodiscard]] CUstream make_stream() const;
  /// @return likewise, for what other streams wait for. Streams share the few hardware queues of
  /// their priority, where one that waits holds up the others; this one has the greatest priority.
  [[nodiscard]] CUstream make_urgent_stream() const;
  /// @param stream of this device. @return whether it is captured in a graph. Throws
  /// Error{transport, invalid_argument} for a default stream that waits for one which is.
  [[nodiscard]] bool is_captured(CUstream stream) const;
  /// Throws Error{transport} where streams of the device cannot write and wait for numbers of 64
  /// bits.
  void require_stream_operations() const;
  /// Runs the kernel of a datatype. @param type any but opaque. @param work see KernelWork; not
  /// null-sized. @param stream of this device's context, which is current. Throws Error{transport}.
  void launch(Datatype type, const KernelWork& work, CUstream stream) const;
  /// Likewise. @param work of one element or more. @param stream see above.
  void launch(const Conversion& work, CUstream stream) const;
  /// Likewise, with kInspectors threads on every GPU, so that all sum up in the same order.
  void launch(const Inspection& work, CUstream stream) const;
  /// Does what ends something, in the context of this device; what fails then cannot be helped.
  /// @param end called once, or not where there is no context any more.
  template <class End>
  void within(End end) const noexcept {
    CUcontext before = nullptr;
    driver_->calls().current_context(&before);
    if (driver_->calls().set_context(context_) == CUDA_SUCCESS) end();
    driver_->calls().set_context(before);
  }
  /// Allocates in the order of a stream, from a pool that keeps what is given back: the driver's
  /// own gives it back to the system whenever somebody waits. It waits for no other stream. @param
  /// bytes more than zero. @param stream of this device, whose context is current. @return the
  /// memory. Throws std::bad_alloc, Error{transport}.
  [[nodiscard]] CUdeviceptr allocate(std::size_t bytes, CUstream stream) const;
  /// Allocates memory that belongs to no stream. @param bytes more than zero. @return it. Throws
  /// likewise.
  [[nodiscard]] CUdeviceptr allocate(std::size_t bytes) const;
  /// Lets another GPU of this process access what streams allocate, as NCCL does for ranks that are
  /// threads; where nothing joins them there is nothing to do. @param ordinal of that one. Throws
  /// Error{transport}.
  void share_pool(int ordinal) const;
  /// Gives memory back, whatever context is current. @param data of cuMemAllocAsync. @param stream
  /// in whose order.
  void free(CUdeviceptr data, CUstream stream) const noexcept {
    within([=, this] { driver_->calls().free(data, stream); });
  }
  /// Gives memory back that was not allocated in a stream's order, likewise. @param data of it.
  void free(CUdeviceptr data) const noexcept {
    within([=, this] { driver_->calls().free_now(data); });
  }
  /// Ends a stream, likewise. @param stream of this device.
  void destroy(CUstream stream) const noexcept {
    within([=, this] { driver_->calls().destroy_stream(stream); });
  }
  /// Ends an event, likewise. @param event of this device.
  void destroy(CUevent event) const noexcept {
    within([=, this] { driver_->calls().destroy_event(event); });
  }

 private:
  void make_pool();
  [[nodiscard]] bool may_access(CUdevice one, CUdevice other) const;
  template <class Allocate>
  CUdeviceptr allocated_by(Allocate allocate) const;
  void launch(const Kernel& kernel, std::uint64_t blocks, void* work, CUstream stream) const;
  void end() noexcept;

  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmemoryPool pool_ = nullptr;
  std::shared_ptr<const Kernels> kernels_{};
};

}  // namespace tutti::v0::cuda
