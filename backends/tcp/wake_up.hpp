/// @file
/// A descriptor that wakes a thread that sleeps on sockets.
#pragma once

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace tutti::tcp {

/// A descriptor that is readable once it was signalled, until it is reset.
class WakeUp {
 public:
  WakeUp() = default;
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  ~WakeUp() {
    if (number_ >= 0) ::close(number_);
  }
  /// Makes the descriptor, once. Throws std::system_error.
  void open() {
    if (number_ >= 0) return;
    number_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (number_ < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
  }
  /// @return the descriptor, or less than zero.
  [[nodiscard]] int number() const noexcept { return number_; }
  /// Makes it readable. Any thread may call this.
  void signal() const noexcept {
    const std::uint64_t one = 1;
    if (number_ >= 0) static_cast<void>(!::write(number_, &one, sizeof one));
  }
  /// Makes it unreadable.
  void reset() const noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!::read(number_, &count, sizeof count));
  }

 private:
  int number_ = -1;
};

}  // namespace tutti::tcp
