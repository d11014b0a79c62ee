/// @file
/// Pieces of a message, for transports: their length, and a position in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tutti/export.hpp>
#include <tutti/spi/copy.hpp>
#include <tutti/spi/streaming.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {

/// @return the bytes of the pieces.
[[nodiscard]] inline std::uint64_t bytes_of(std::span<const Piece> pieces) noexcept {
  if (pieces.size() == 1) return pieces.front().bytes;
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

/// A position in the pieces of a message.
class TUTTI_API Cursor {
 public:
  /// Starts at the front. @param pieces must live.
  explicit Cursor(std::span<const Piece> pieces = {}) noexcept : pieces_{pieces} {}

  /// Advances over a run of bytes. @param bytes more than zero; something must be left.
  /// @return the rest of the current piece, at most that many bytes of it.
  [[nodiscard]] Piece next(std::uint64_t bytes) noexcept {
    const Piece& piece = pieces_.front();
    const Piece run{piece.data + offset_, std::min<std::uint64_t>(bytes, piece.bytes - offset_)};
    offset_ += run.bytes;
    if (offset_ == piece.bytes) {
      pieces_ = pieces_.subspan(1);
      offset_ = 0;
    }
    return run;
  }
  /// Advances. @param bytes at most the rest. @param visit called with each run.
  template <class Visit>
  void pass(std::uint64_t bytes, Visit visit) {
    while (bytes > 0) {
      const Piece run = next(bytes);
      bytes -= run.bytes;
      visit(std::span<std::byte>{run.data, run.bytes});
    }
  }
  /// Copies the next bytes out of the pieces. @param bytes at most the rest.
  void read(std::byte* to, std::uint64_t bytes) noexcept {
    pass(bytes, [&to](std::span<const std::byte> run) {
      copy_bytes(to, run.data(), run.size());
      to += run.size();
    });
  }
  /// Copies them past the caches, for a reader on another core; call end_streams before it is
  /// notified.
  /// @param bytes at most the rest.
  void stream(std::byte* to, std::uint64_t bytes) noexcept {
    pass(bytes, [&to](std::span<const std::byte> run) {
      tutti::stream(to, run.data(), run.size());
      to += run.size();
    });
  }
  /// Copies bytes into the pieces. @param bytes at most the rest.
  void write(const std::byte* from, std::uint64_t bytes) noexcept {
    pass(bytes, [&from](std::span<std::byte> run) {
      copy_bytes(run.data(), from, run.size());
      from += run.size();
    });
  }

 private:
  std::span<const Piece> pieces_;
  std::size_t offset_ = 0;  // into the first
};

}  // namespace tutti::v0
