/// @file
/// Memory of the host that a GPU accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device.hpp"

namespace tutti::v0::cuda {

/// Page-locked memory of the host, zeroed.
class PinnedMemory {
 public:
  /// @param device not null. @param bytes more than zero. Throws Error{transport}.
  PinnedMemory(std::shared_ptr<const Device> device, std::size_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  /// @return the memory, aligned to a page.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// @return its address on the device.
  [[nodiscard]] CUdeviceptr seen() const noexcept { return seen_; }
  /// Never frees the memory, since something may still access it.
  void keep() noexcept { is_kept_ = true; }

 private:
  std::shared_ptr<const Device> device_;
  std::byte* data_ = nullptr;
  CUdeviceptr seen_ = 0;
  bool is_kept_ = false;
};

/// A number that one thread of the host increases, and that streams of a device wait for.
class Milestone {
 public:
  /// Above all numbers. Drivers compare modulo 2^64, so it is not above them by half of that.
  static constexpr std::uint64_t kAll = std::uint64_t{1} << 62U;

  /// @param device not null. Throws Error{transport}.
  explicit Milestone(std::shared_ptr<const Device> device);
  /// Makes a stream of the device wait for a number below kAll. Throws Error{transport}.
  void hold(std::uint64_t number, CUstream stream) const;
  /// Ends the waits for a number and all below it. @param number kAll also ends all later waits.
  void reach(std::uint64_t number) noexcept;

 private:
  std::shared_ptr<const Device> device_;
  PinnedMemory memory_;
};

}  // namespace tutti::v0::cuda
