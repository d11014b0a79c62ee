/// @file
/// Memory that tasks move bytes through.
#pragma once

#include <array>
#include <cstddef>

#include <tutti/buffer.hpp>
#include <tutti/codec.hpp>
#include <tutti/spi/group.hpp>

namespace tutti::v0::detail {

/// Keeps the largest blocks that come back, since new pages cost more than the bytes that pass
/// through them.
class PayloadMemory {
 public:
  /// @param kept_bytes in all, at most. @param group makes memory that peers see, or null; it lives
  /// longer.
  PayloadMemory(std::size_t kept_bytes, Group* group) noexcept
      : kept_bytes_{kept_bytes}, group_{group} {}

  /// @param bytes that are needed, or none for the largest block there is. @return so many at
  /// least where some are needed. Throws std::bad_alloc only then.
  [[nodiscard]] RawBytes acquire(std::size_t bytes);
  /// @param memory that acquire returned.
  void give_back(RawBytes memory) noexcept;
  /// Memory that peers see, which costs more yet. @param bytes that are needed. @return so many at
  /// least, or none where there is no such memory, or it would be more than may be kept.
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
