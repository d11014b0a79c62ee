/// @file
/// Memory of a GPU: allocation, copies and folds in the order of a stream.
#pragma once

#include <memory>

#include <tutti/spi/memory.hpp>

#include "device.hpp"

namespace tutti::cuda {

/// Enqueues on one stream, and waits for nothing but where Memory's own functions have to have
/// ended when they return. All bytes lie in memory of the device, or in host memory that it sees.
class DeviceMemory final : public Memory {
 public:
  /// @param device not null. Makes a stream of its own. Throws Error{transport}.
  explicit DeviceMemory(std::shared_ptr<const Device> device);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() override;

  // As Memory says; when they return it is done. Throw Error{transport}.
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* data, std::size_t bytes) noexcept override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  /// Throws Error{invalid_argument} where the operator is a user's: it is a function of the host;
  /// and where an address is none of an element.
  void fold(const Fold& work) override;

  /// Enqueues a copy. @param to destination. @param from source. @param bytes how many. @param
  /// stream of the device. Throws Error{transport}.
  void enqueue_copy(std::byte* to, const std::byte* from, std::size_t bytes, CUstream stream) const;
  /// Enqueues a fold. @param work as Memory::fold. @param stream of the device. Throws as fold.
  void enqueue_fold(const Fold& work, CUstream stream) const;
  /// @return the own stream.
  [[nodiscard]] CUstream stream() const noexcept { return stream_; }

 private:
  std::shared_ptr<const Device> device_;
  CUstream stream_ = nullptr;
};

}  // namespace tutti::cuda
