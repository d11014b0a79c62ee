/// @file
/// A connected stream socket that never blocks.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "cipher.hpp"

namespace tutti::tcp {

/// Owns a descriptor. Its cipher, if there is one, moves the bytes.
class Socket {
 public:
  /// @param descriptor connected; owned from now on. @param cipher of its bytes, or null.
  explicit Socket(int descriptor, std::shared_ptr<Cipher> cipher = nullptr) noexcept
      : descriptor_{descriptor}, cipher_{std::move(cipher)} {}
  Socket(Socket&& other) noexcept
      : descriptor_{std::exchange(other.descriptor_, -1)}, cipher_{std::move(other.cipher_)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(cipher_, other.cipher_);
    return *this;
  }
  ~Socket();

  /// Sets the options of a data connection. Throws Error{transport}.
  void prepare();
  /// @param from not empty, unless has_unsent(). @return the bytes for which the socket had room.
  [[nodiscard]] Moved write(std::span<const iovec> from) noexcept;
  /// @param into not empty. @return the bytes that were there.
  [[nodiscard]] Moved read(std::span<const iovec> into) noexcept;
  /// @return whether a write is to be tried although there is nothing new to send.
  [[nodiscard]] bool has_unsent() const noexcept {
    return cipher_ != nullptr && cipher_->has_unsent();
  }
  /// @return whether a read is to be tried although poll(2) sees nothing.
  [[nodiscard]] bool has_unread() const noexcept {
    return cipher_ != nullptr && cipher_->has_unread();
  }
  /// Closes the direction to the peer.
  void end_writing() noexcept;
  /// @return the number of written bytes that the peer's host has not acknowledged.
  [[nodiscard]] int unacknowledged() const noexcept;
  /// @return the descriptor, for poll(2).
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
  std::shared_ptr<Cipher> cipher_;
};

}  // namespace tutti::tcp
