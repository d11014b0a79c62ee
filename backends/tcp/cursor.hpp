/// @file
/// Cursor: a place in the pieces of a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <sys/uio.h>

#include <tutti/transport.hpp>

namespace tutti::tcp {

/// @param pieces any. @return their bytes.
[[nodiscard]] inline std::uint64_t bytes_of(std::span<const Piece> pieces) noexcept {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

/// Some io vectors, filled from the front.
template <std::size_t kMost>
class Vectors {
 public:
  /// @return whether no more fit.
  [[nodiscard]] bool full() const noexcept { return count_ == kMost; }
  /// @return their bytes.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// @param data a run of bytes. @param bytes how many. Not when full.
  void add(const void* data, std::size_t bytes) noexcept {
    vectors_[count_++] = {const_cast<void*>(data), bytes};
    bytes_ += bytes;
  }
  /// @return what was added.
  [[nodiscard]] std::span<const iovec> all() const noexcept { return {vectors_, count_}; }

 private:
  iovec vectors_[kMost];  // not zeroed: a poll must be cheap
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// A place in the pieces of a message.
class Cursor {
 public:
  /// At the front. @param pieces which; they stay where they are.
  explicit Cursor(std::span<const Piece> pieces = {}) noexcept : pieces_{pieces} {}

  /// Moves on. @param bytes no more than are left. @param visit called with each run passed.
  template <class Visit>
  void pass(std::uint64_t bytes, Visit visit) {
    while (bytes > 0) {
      const Piece& piece = pieces_.front();
      const std::size_t run = std::min<std::uint64_t>(bytes, piece.bytes - offset_);
      const std::span<std::byte> passed{piece.data + offset_, run};
      bytes -= run;
      offset_ += run;
      if (offset_ == piece.bytes) {
        pieces_ = pieces_.subspan(1);
        offset_ = 0;
      }
      visit(passed);
    }
  }
  /// Lists what lies ahead, as far as there is room. @param bytes the most to list, no more than
  /// are left. @param vectors where to. @return the bytes listed.
  template <std::size_t kMost>
  std::uint64_t list(std::uint64_t bytes, Vectors<kMost>& vectors) const {
    Cursor ahead = *this;
    std::uint64_t listed = 0;
    while (listed < bytes && !vectors.full()) {
      const std::uint64_t run = std::min(bytes - listed, ahead.run());
      ahead.pass(run, [&](std::span<std::byte> passed) { vectors.add(passed.data(), run); });
      listed += run;
    }
    return listed;
  }

 private:
  [[nodiscard]] std::uint64_t run() const noexcept { return pieces_.front().bytes - offset_; }

  std::span<const Piece> pieces_;
  std::size_t offset_ = 0;  // into the first
};

}  // namespace tutti::tcp
