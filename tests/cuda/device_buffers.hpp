/// @file
/// A call's buffers, in memory of a device.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <tutti/call.hpp>

#include "device_memory.hpp"

namespace tutti::test {

/// Copies of a call's input and output in memory of a device, where they overlap as they do on the
/// host. A user's operator gets a function of the device, which goes to the host and back.
class DeviceBuffers {
 public:
  /// Gives memory of the device.
  using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;
  /// @param memory of the device. @param call whose buffers are copied. @param allocate where they
  /// are copied to; null: memory that the device's has.
  DeviceBuffers(std::shared_ptr<cuda::DeviceMemory> memory, const Call& call,
                Allocate allocate = {});

  /// @return the call, on the device's memory.
  [[nodiscard]] const Call& call() const noexcept { return call_; }
  /// Copies all to the device again.
  void store();
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
  void give_device_function();

  std::shared_ptr<cuda::DeviceMemory> memory_;
  Allocate allocate_;
  Call call_;
  std::optional<Operator> op_{};  // a user's, with a function of the device
  Region in_{};
  Region out_{};
};

}  // namespace tutti::test
