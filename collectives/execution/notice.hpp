/// @file
/// The notice of an operation's end, for an event loop.
#pragma once

#include <utility>

#include <tutti/spi/eventfd.hpp>

namespace tutti::v0::detail {

/// An eventfd that is signalled once, as Request::notify promises.
class Notice {
 public:
  /// @param eventfd replaces the one before; less than zero: none.
  void set(int eventfd) noexcept { eventfd_ = eventfd; }
  [[nodiscard]] bool is_set() const noexcept { return eventfd_ >= 0; }
  void send() noexcept {
    if (is_set()) signal_eventfd(std::exchange(eventfd_, -1));
  }

 private:
  int eventfd_ = -1;
};

}  // namespace tutti::v0::detail
