/// @file
/// Memory of a GPU: allocation, copies and folds.
#pragma once

#include <memory>

#include <tutti/spi/memory.hpp>

#include "device.hpp"

namespace tutti::v0::cuda {

/// Runs on a stream of its own, and waits for its end. All bytes lie in memory of the device, or in
/// host memory that it sees.
class DeviceMemory final : public Memory {
 public:
  /// @param device not null. Makes a stream of its own. Throws Error{transport}.
  explicit DeviceMemory(std::shared_ptr<const Device> device);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() override;

  // As Memory says; when they return it is done. Throw Error{transport}.
  /// Other devices may see it, too.
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* data, std::size_t bytes) noexcept override;
  /// Waits until a stream has done all that was enqueued on it. @param stream of the device, as
  /// cudaStream_t. Throws Error{transport}.
  void wait(void* stream);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  /// Throws Error{invalid_argument} where the operator is a user's: it is a function of the host;
  /// and where an address is none of an element.
  void fold(const Fold& work) override;

 private:
  std::shared_ptr<const Device> device_;
  CUstream stream_ = nullptr;
};

}  // namespace tutti::v0::cuda
