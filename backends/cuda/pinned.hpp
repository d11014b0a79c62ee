/// @file
/// Memory of the host that a GPU accesses: for copies that nobody waits for, and for a number that
/// streams wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device.hpp"

namespace tutti::v0::cuda {

/// Page-locked memory of the host, zeroed.
class PinnedMemory {
 public:
  /// @param device that accesses it; not null. @param bytes more than zero. Throws
  /// Error{transport}.
  PinnedMemory(std::shared_ptr<const Device> device, std::size_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  /// @return it, aligned to a page.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// @return its address for the device.
  [[nodiscard]] CUdeviceptr seen() const noexcept { return seen_; }
  /// It is never given back: somebody may still access it.
  void keep() noexcept { is_kept_ = true; }

 private:
  std::shared_ptr<const Device> device_;
  std::byte* data_ = nullptr;
  CUdeviceptr seen_ = 0;
  bool is_kept_ = false;
};

/// A number that only grows, by one thread of the host, and that streams of a device wait for.
class Milestone {
 public:
  /// @param device not null. Throws Error{transport}.
  explicit Milestone(std::shared_ptr<const Device> device);

  /// Has a stream wait. @param number that is to be reached, below 2^62. @param stream of the
  /// device, whose context is current. Throws Error{transport}.
  void hold(std::uint64_t number, CUstream stream) const;
  /// What waits for a number goes on. @param number it, and all below it.
  void reach(std::uint64_t number) noexcept;
  /// What waits for any number goes on, and so does what will.
  void reach_all() noexcept;

 private:
  std::shared_ptr<const Device> device_;
  PinnedMemory memory_;
};

}  // namespace tutti::v0::cuda
