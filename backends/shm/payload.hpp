/// @file
/// The bytes of a message that came before its receive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include <tutti/spi/copy.hpp>

namespace tutti::shm {

/// Bytes in the order in which they came. It keeps its memory for reuse, and never clears it.
class Payload {
 public:
  /// Removes all bytes.
  void clear() noexcept { bytes_ = 0; }
  /// Adds a part at the end. Throws std::bad_alloc.
  void append(std::span<const std::byte> part) {
    if (part.size() > room_ - bytes_) grow(bytes_ + part.size());
    copy_bytes(data_.get() + bytes_, part.data(), part.size());
    bytes_ += part.size();
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return {data_.get(), bytes_}; }

 private:
  void grow(std::size_t needed) {
    const std::size_t room = std::max(needed, 2 * room_);
    auto data = std::make_unique_for_overwrite<std::byte[]>(room);
    copy_bytes(data.get(), data_.get(), bytes_);
    data_ = std::move(data);
    room_ = room;
  }

  std::unique_ptr<std::byte[]> data_{};
  std::size_t bytes_ = 0;
  std::size_t room_ = 0;
};

}  // namespace tutti::shm
