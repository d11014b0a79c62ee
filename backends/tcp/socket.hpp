/// @file
/// A connected stream socket that never blocks.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "cipher.hpp"

namespace tutti::tcp {

/// Owns a descriptor; a cipher, where there is one, moves its bytes.
class Socket {
 public:
  /// @param descriptor connected; owned from now on. @param cipher of it, or null.
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

  /// Sets what a data connection needs. Throws Error{transport}.
  void prepare();
  /// @param from not empty, unless has_unsent. @return what left, as far as the socket has room.
  [[nodiscard]] Moved write(std::span<const iovec> from) noexcept;
  /// @param into not empty. @return what was there.
  [[nodiscard]] Moved read(std::span<const iovec> into) noexcept;
  /// @return whether a write is to be tried although there is nothing new to send.
  [[nodiscard]] bool has_unsent() const noexcept { return cipher_ != nullptr && cipher_->has_unsent(); }
  /// @return whether a read is to be tried although poll(2) sees nothing.
  [[nodiscard]] bool has_unread() const noexcept { return cipher_ != nullptr && cipher_->has_unread(); }
  /// Tells the peer that nothing more comes.
  void end_writing() noexcept;
  /// @return how many bytes written the peer's host has not yet acknowledged.
  [[nodiscard]] int unacknowledged() const noexcept;
  /// @return the descriptor, for poll(2).
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
  std::shared_ptr<Cipher> cipher_;
};

}  // namespace tutti::tcp
