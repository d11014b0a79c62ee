/// @file
/// Memory of a GPU for tests: allocation, copies and folds.
#pragma once

#include <memory>
#include <utility>

#include <tutti/spi/memory.hpp>

#include "backends/cuda/device.hpp"
#include "backends/cuda/enqueue.hpp"

namespace tutti::v0::cuda {

/// Memory whose calls run on a stream of its own, and return when they are done.
class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::shared_ptr<const Device> device)
      : device_{std::move(device)}, stream_{device_->make_stream()} {}

  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    return reinterpret_cast<std::byte*>(device_->allocate(bytes));
  }
  void deallocate(std::byte* data, std::size_t) noexcept override {
    device_->free(address_of(data));
  }
  /// Waits until a stream of the device has done all that was enqueued on it.
  void wait(void* stream) {
    device_->call("wait for a stream", &DriverCalls::synchronize, static_cast<CUstream>(stream));
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    enqueue_copy(*device_, to, from, bytes, stream_.get());
    wait(stream_.get());
  }
  void fold(const Fold& work) override {
    enqueue_fold(*device_, work, stream_.get());
    wait(stream_.get());
  }

 private:
  std::shared_ptr<const Device> device_;
  OwnedStream stream_;
};

}  // namespace tutti::v0::cuda
