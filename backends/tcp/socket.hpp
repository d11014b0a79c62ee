/// @file
/// A connected stream socket that never blocks.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <sys/uio.h>

namespace tutti::tcp {

/// What became of a read or a write.
struct Moved {
  std::size_t bytes = 0;  ///< How many were moved; fewer than asked where the socket had no more.
  bool closed = false;    ///< The peer sends nothing any more.
  int error = 0;          ///< The errno of a failure; 0 if there was none.
};

/// Owns a descriptor.
class Socket {
 public:
  /// @param descriptor connected; owned from now on.
  explicit Socket(int descriptor) noexcept : descriptor_{descriptor} {}
  Socket(Socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  /// Sets what a data connection needs. Throws Error{transport}.
  void prepare();
  /// @param from not empty. @return what left, as far as the socket has room.
  [[nodiscard]] Moved write(std::span<const iovec> from) noexcept;
  /// @param into not empty. @return what was there.
  [[nodiscard]] Moved read(std::span<const iovec> into) noexcept;
  /// Tells the peer that nothing more comes.
  void end_writing() noexcept;
  /// @return how many bytes written the peer's host has not yet acknowledged.
  [[nodiscard]] int unacknowledged() const noexcept;
  /// @return the descriptor, for poll(2).
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace tutti::tcp
