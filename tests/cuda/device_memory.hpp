/// @file
/// Memory of a GPU for tests: allocation, copies and folds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <tutti/spi/memory.hpp>

#include "backends/cuda/device.hpp"
#include "backends/cuda/enqueue.hpp"

namespace tutti::v0::cuda {

/// Memory whose calls run on a stream of its own, and return when they are done. It
/// reuses deallocated memory and frees it at the end, since cuMemFree waits for the streams of all
/// ranks that share the GPU.
class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::shared_ptr<const Device> device)
      : device_{std::move(device)}, stream_{device_->make_stream()} {}

  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() override {
    for (const auto& [bytes, data] : unused_) device_->free(address_of(data));
    for (void* const word : words_) device_->frees()->free_pinned(word);
  }

  [[nodiscard]] const Device& device() const noexcept { return *device_; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    const std::scoped_lock lock{mutex_};
    if (const auto found = unused_.extract(bytes)) return found.mapped();
    return reinterpret_cast<std::byte*>(device_->allocate(bytes));
  }
  void deallocate(std::byte* data, std::size_t bytes) noexcept override {
    const std::scoped_lock lock{mutex_};
    unused_.emplace(bytes, data);
  }
  /// @return a zero of the host that streams may wait for. It is freed at the end.
  [[nodiscard]] std::uint64_t* allocate_word() {
    void* word = nullptr;
    device_->call("make a word", &DriverCalls::allocate_pinned, &word, sizeof(std::uint64_t), 0U);
    const std::scoped_lock lock{mutex_};
    words_.push_back(word);
    return new (word) std::uint64_t{0};
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
  std::mutex mutex_{};
  std::multimap<std::size_t, std::byte*> unused_{};  // by their bytes
  std::vector<void*> words_{};
};

}  // namespace tutti::v0::cuda
