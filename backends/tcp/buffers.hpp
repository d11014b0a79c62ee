/// @file
/// Buffers that are kept for reuse: after warm-up nothing is allocated.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace tutti::tcp {

/// Bytes that are aligned to a cache line.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes)
      : data_{static_cast<std::byte*>(::operator new(bytes, kAlignment))}, size_{bytes} {}
  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_{};
  std::size_t size_ = 0;
};

/// Buffers for messages without a receive, in powers of two, so that a short message does not keep
/// a long buffer.
class Buffers {
 public:
  /// @return a buffer of the power of two that holds `bytes`.
  [[nodiscard]] Buffer acquire(std::size_t bytes) {
    std::vector<Buffer>& free = class_of(bytes);
    if (free.empty()) return Buffer{std::bit_ceil(bytes)};
    Buffer buffer = std::move(free.back());
    free.pop_back();
    return buffer;
  }
  /// @param buffer that acquire returned, or an empty one.
  void release(Buffer buffer) {
    if (buffer.size() > 0) class_of(buffer.size()).push_back(std::move(buffer));
  }

 private:
  [[nodiscard]] std::vector<Buffer>& class_of(std::size_t bytes) noexcept {
    return free_[static_cast<std::size_t>(std::bit_width(std::bit_ceil(bytes)))];
  }
  std::array<std::vector<Buffer>, 66> free_{};
};

}  // namespace tutti::tcp
