/// @file
/// Waits with a deadline, for conditions that only a poll shows.
#pragma once

#include <chrono>
#include <thread>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::cuda {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline Clock::time_point deadline_in(Duration patience) noexcept {
  return Clock::time_point{deadline_after(Clock::now().time_since_epoch(), patience)};
}

/// Pauses between two polls: most waits last microseconds, and long ones must not take a core.
/// @param polls number of polls so far.
inline void pause_after(unsigned polls) {
  constexpr unsigned kYields = 200;
  constexpr std::chrono::microseconds kShortNap{10};
  constexpr std::chrono::microseconds kLongNap{50};
  if (polls < kYields) std::this_thread::yield();
  else std::this_thread::sleep_for(polls < 2 * kYields ? kShortNap : kLongNap);
}

/// Polls a condition at least once. @return whether it held by the deadline.
template <class Condition>
[[nodiscard]] bool poll_until(Clock::time_point deadline, Condition holds) {
  for (unsigned polls = 0; !holds(); ++polls) {
    if (Clock::now() >= deadline) return false;
    pause_after(polls);
  }
  return true;
}

}  // namespace tutti::v0::cuda
