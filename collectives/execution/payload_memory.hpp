/// @file
/// Memory for the bytes that tasks move.
#pragma once

#include <array>
#include <cstddef>

#include <tutti/buffer.hpp>
#include <tutti/codec.hpp>
#include <tutti/spi/group.hpp>

namespace tutti::v0::detail {

/// Keeps the largest blocks that are given back, since new pages cost more time than moving the
/// bytes that they hold.
class PayloadMemory {
 public:
  /// @param kept_bytes the most bytes that are kept. @param group makes memory that peers see, or
  /// null; it outlives this.
  PayloadMemory(std::size_t kept_bytes, Group* group) noexcept
      : kept_bytes_{kept_bytes}, group_{group} {}

  /// @param bytes needed; 0 for the largest kept block, if any. @return at least these bytes.
  /// Throws std::bad_alloc only for more than 0.
  [[nodiscard]] RawBytes acquire(std::size_t bytes);
  /// @param memory that acquire returned.
  void give_back(RawBytes memory) noexcept;
  /// Acquires memory that peers see, which costs even more to make. @return at least `bytes`, or
  /// none if there is no such memory, or if it would be too large to keep.
  [[nodiscard]] Buffer<std::byte> acquire_visible(std::size_t bytes);
  /// @param memory that acquire_visible returned.
  void give_back_visible(Buffer<std::byte> memory) noexcept;

 private:
  std::size_t kept_bytes_;
  Group* group_;
  std::array<RawBytes, 4> blocks_{};
  Buffer<std::byte> visible_{};
};

}  // namespace tutti::v0::detail
