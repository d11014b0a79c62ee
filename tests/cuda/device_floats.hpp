/// @file
/// Numbers in memory of a device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device_memory.hpp"

namespace tutti::harness {

/// Memory of a device that ends with this.
class DeviceFloats {
 public:
  /// @param memory of the device. @param count more than zero.
  DeviceFloats(std::shared_ptr<cuda::DeviceMemory> memory, std::size_t count)
      : memory_{std::move(memory)}, data_{memory_->allocate(count * sizeof(float))}, count_{count} {
  }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  ~DeviceFloats() { memory_->deallocate(data_, count_ * sizeof(float)); }

  [[nodiscard]] std::span<float> span() const { return {reinterpret_cast<float*>(data_), count_}; }
  void store(const std::vector<float>& values) {
    memory_->copy(data_, reinterpret_cast<const std::byte*>(values.data()), count_ * sizeof(float));
  }
  [[nodiscard]] std::vector<float> load() const {
    std::vector<float> values(count_);
    memory_->copy(reinterpret_cast<std::byte*>(values.data()), data_, count_ * sizeof(float));
    return values;
  }

 private:
  std::shared_ptr<cuda::DeviceMemory> memory_;
  std::byte* data_;
  std::size_t count_;
};

}  // namespace tutti::harness
