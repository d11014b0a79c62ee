/// @file
/// Waits of init, which interrupt_by ends.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include <tutti/error.hpp>
#include <tutti/spi/channel.hpp>
#include <tutti/spi/interrupt.hpp>

namespace tutti::runtime {

/// Throws Error{aborted} if this thread is interrupted. @param end of a wait. @return the time
/// until which it may wait before it asks again.
[[nodiscard]] inline Deadline next_look(Deadline end) {
  constexpr std::chrono::milliseconds kLooks{10};
  if (interrupt_flag() == nullptr) return end;
  if (is_interrupted())
    throw Error{ErrorCode::aborted, "this rank was interrupted while it waited for the others"};
  return std::min(end, std::chrono::steady_clock::now() + kLooks);
}

/// Sleeps until `end`. Throws as next_look.
inline void sleep_until(Deadline end) {
  do std::this_thread::sleep_until(next_look(end));
  while (std::chrono::steady_clock::now() < end);
}

}  // namespace tutti::runtime
