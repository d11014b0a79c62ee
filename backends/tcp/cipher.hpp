/// @file
/// The interface for encryption of a connection.
#pragma once

#include <cstddef>
#include <span>

#include <sys/uio.h>

namespace tutti::tcp {

/// The outcome of a read or a write.
struct Moved {
  std::size_t bytes = 0;  ///< Moved bytes; fewer than asked if the socket had no more.
  bool closed = false;    ///< Whether the peer has closed its direction.
  int error = 0;          ///< The errno of a failure; 0 if there was none.
};

/// Encrypts what is written to a socket and decrypts what is read. Never blocks. One thread at a
/// time. The socket belongs to the caller.
class Cipher {
 public:
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  virtual ~Cipher() = default;

  /// @param from may be empty, to send only unsent bytes. @return the bytes that were accepted.
  /// They may not have been sent yet.
  [[nodiscard]] virtual Moved write(std::span<const iovec> from) noexcept = 0;
  /// @param into not empty. @return the bytes that were read; fewer than asked only if no more can
  /// be read now. Bytes that the peer did not write are an error.
  [[nodiscard]] virtual Moved read(std::span<const iovec> into) noexcept = 0;
  /// @return whether accepted bytes wait for the socket to have room.
  [[nodiscard]] virtual bool has_unsent() const noexcept = 0;
  /// @return whether bytes may be read although the socket has none.
  [[nodiscard]] virtual bool has_unread() const noexcept = 0;
};

}  // namespace tutti::tcp
