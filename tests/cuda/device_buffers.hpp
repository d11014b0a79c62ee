/// @file
/// A call's buffers, in memory of a device.
#pragma once

#include <cstddef>
#include <memory>

#include <tutti/call.hpp>

#include "backends/cuda/device_memory.hpp"

namespace tutti::test {

/// Copies of a call's input and output in memory of a device, where they overlap as they do on the
/// host.
class DeviceBuffers {
 public:
  /// @param memory of the device. @param call whose buffers are copied.
  DeviceBuffers(std::shared_ptr<cuda::DeviceMemory> memory, const Call& call);

  /// @return the call, on the device's memory.
  [[nodiscard]] const Call& call() const noexcept { return call_; }
  /// Copies all back to the host.
  void fetch();

 private:
  /// Bytes of the host, and where they are on the device.
  struct Region {
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    std::shared_ptr<std::byte> device{};
  };
  [[nodiscard]] Region region(std::byte* host, std::size_t bytes);

  std::shared_ptr<cuda::DeviceMemory> memory_;
  Call call_;
  Region in_{};
  Region out_{};
};

}  // namespace tutti::test
