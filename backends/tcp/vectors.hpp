/// @file
/// Lists of runs of bytes for one system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/uio.h>

#include <tutti/spi/pieces.hpp>

namespace tutti::tcp {

/// The most runs of one system call: more would not pay.
inline constexpr std::size_t kMostVectors = 64;

/// Some io vectors, filled from the front.
template <std::size_t kMost>
class Vectors {
 public:
  /// @return whether no more fit.
  [[nodiscard]] bool full() const noexcept { return count_ == kMost; }
  /// @return the bytes of all.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// @param data a run of bytes. Not when full.
  void add(const void* data, std::size_t bytes) noexcept {
    vectors_[count_++] = {const_cast<void*>(data), bytes};
    bytes_ += bytes;
  }
  [[nodiscard]] std::span<const iovec> all() const noexcept { return {vectors_, count_}; }

 private:
  iovec vectors_[kMost];  // not zeroed: a poll must be cheap
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// Lists the next bytes of a message, as far as there is room. @param ahead the next byte.
/// @param bytes the most to list, no more than are left. @return the bytes listed.
template <std::size_t kMost>
std::uint64_t list_ahead(Cursor ahead, std::uint64_t bytes, Vectors<kMost>& vectors) {
  std::uint64_t listed = 0;
  while (listed < bytes && !vectors.full()) {
    const Piece run = ahead.next(bytes - listed);
    vectors.add(run.data, run.bytes);
    listed += run.bytes;
  }
  return listed;
}

}  // namespace tutti::tcp
