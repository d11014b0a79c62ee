/// @file
/// The choice between copies through the caches and past them.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::shm {

/// Finds out whether the cores of two ranks share a cache. If they do not, a ring that both keep in
/// their caches moves line by line when it is written and read, several times more slowly than
/// through memory; copies past the caches are then faster. The operating system can move ranks at
/// any time, and a hypervisor its guests, so the sender times every n-th plain copy.
class CopyTuner {
 public:
  /// The least bytes of a copy past the caches.
  static constexpr std::uint64_t kLeast = 512;
  /// The kinds of copies.
  enum class Copy : std::uint8_t {
    plain,  ///< With plain stores.
    timed,  ///< With plain stores, followed by add_time.
    past    ///< Past the caches.
  };

  /// @param bytes to be copied into the ring. @return the kind of copy.
  [[nodiscard]] Copy choose(std::uint64_t bytes) noexcept {
    if (bytes < kLeast) return Copy::plain;
    const std::uint32_t every = is_far_ ? kTimedOfFar : kTimedOfNear;
    if (bytes >= kLeastTimed && bytes <= kMostTimed && ++copies_ % every == 0) return Copy::timed;
    return is_far_ ? Copy::past : Copy::plain;
  }
  /// @param bytes that were copied with plain stores. @param time until all were done.
  void add_time(std::uint64_t bytes, Duration time) noexcept {
    const Duration near = kClock + Duration{static_cast<std::int64_t>(bytes / kNearBytes)};
    score_ = std::clamp(score_ + (time > near ? 1 : -1), -kSure, kSure);
    if (score_ == kSure) is_far_ = true;
    if (score_ == -kSure) is_far_ = false;
  }
  /// @return whether the cores share no cache, by the copies timed so far.
  [[nodiscard]] bool is_far() const noexcept { return is_far_; }

 private:
  /// The least bytes of a timed copy; shorter ones are too fast for the clock.
  static constexpr std::uint64_t kLeastTimed = 1024;
  /// The most bytes of a timed copy; the source of longer ones is not in the caches.
  static constexpr std::uint64_t kMostTimed = std::uint64_t{64} << 10;
  /// One of this many copies is timed while the cores share a cache.
  static constexpr std::uint32_t kTimedOfNear = 16;
  /// One of this many copies is timed while they share none, since a timed copy then costs more.
  static constexpr std::uint32_t kTimedOfFar = 64;
  /// The least bytes per nanosecond between cores that share a cache.
  static constexpr std::uint64_t kNearBytes = 8;
  /// The time of two reads of the clock.
  static constexpr Duration kClock{60};
  /// The score at which the choice changes. One copy does not suffice, since it may be interrupted.
  static constexpr int kSure = 3;
  std::uint32_t copies_ = 0;
  int score_ = 0;
  bool is_far_ = false;
};

}  // namespace tutti::shm
