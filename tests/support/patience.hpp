/// @file
/// How long tests wait. A loaded machine must not break a test, so what has to happen gets far more
/// time than it takes, and what has to come early is compared with that.
#pragma once

#include <chrono>

namespace tutti::test {

/// A deadline for what has to happen. No passing test waits it out; the watchdog waits longer.
inline constexpr std::chrono::seconds kAmple{120};
/// A bound for what has to happen without waiting for a deadline of kAmple.
inline constexpr std::chrono::seconds kLongBefore = kAmple / 2;

/// Attempts something again with three times the time, as often as a loaded machine may need it.
/// Repeats an attempt with more time: an error fails every attempt. @param time of the first
/// attempt, which is enough on a quiet machine. @param attempt gets the time and returns whether it
/// came out right. @return whether one did.
template <class Attempt>
bool with_enough_time(std::chrono::milliseconds time, const Attempt& attempt) {
  constexpr int kAttempts = 5;
  for (int i = 0; i < kAttempts; ++i, time *= 3)
    if (attempt(time)) return true;
  return false;
}

}  // namespace tutti::test
