/// @file
/// The pieces of a message, for transports: how long they are, and a place in them.
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

/// @param pieces any. @return their bytes.
[[nodiscard]] inline std::uint64_t bytes_of(std::span<const Piece> pieces) noexcept {
  if (pieces.size() == 1) return pieces.front().bytes;
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

/// A place in the pieces of a message.
class TUTTI_API Cursor {
 public:
  /// At the front. @param pieces which; they stay where they are.
  explicit Cursor(std::span<const Piece> pieces = {}) noexcept : pieces_{pieces} {}

  /// Steps over a run of bytes. @param bytes more than zero; something is left. @return the rest of
  /// the piece at hand, at most so many bytes of it.
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
  /// Moves on. @param bytes no more than are left. @param visit called with each run passed.
  template <class Visit>
  void pass(std::uint64_t bytes, Visit visit) {
    while (bytes > 0) {
      const Piece run = next(bytes);
      bytes -= run.bytes;
      visit(std::span<std::byte>{run.data, run.bytes});
    }
  }
  /// Copies the next bytes out of the pieces. @param to where to. @param bytes no more than are
  /// left.
  void read(std::byte* to, std::uint64_t bytes) noexcept {
    pass(bytes, [&to](std::span<const std::byte> run) {
      copy_bytes(to, run.data(), run.size());
      to += run.size();
    });
  }
  /// The same past the caches, for another core to read them; call end_streams before it is told.
  /// @param to where to. @param bytes no more than are left.
  void stream(std::byte* to, std::uint64_t bytes) noexcept {
    pass(bytes, [&to](std::span<const std::byte> run) {
      tutti::stream(to, run.data(), run.size());
      to += run.size();
    });
  }
  /// Copies bytes into the pieces. @param from whence. @param bytes no more than have room.
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
