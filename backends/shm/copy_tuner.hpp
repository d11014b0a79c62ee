/// @file
/// How far two ranks' cores are from each other.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::shm {

/// Whether the cores of two ranks share a cache. Where they do not, a ring that both keep in their
/// own travels line by line when it is written and read, several times as slowly as through memory,
/// so that copies past the caches are quicker. No rank is told, and it changes where a system moves
/// ranks, or a host its guests: so the sender takes the time of a plain copy now and then.
class CopyTuner {
 public:
  /// Shorter copies go through the caches wherever the cores are.
  static constexpr std::uint64_t kLeast = 512;
  /// How to copy.
  enum class Copy : std::uint8_t {
    plain,  ///< With plain stores.
    timed,  ///< Likewise, and say how long it took.
    past    ///< Past the caches.
  };

  /// @param bytes to be copied into the ring. @return how.
  [[nodiscard]] Copy choose(std::uint64_t bytes) noexcept {
    if (bytes < kLeast) return Copy::plain;
    const std::uint32_t every = is_far_ ? kTimedOfFar : kTimedOfNear;
    if (bytes >= kLeastTimed && ++copies_ % every == 0) return Copy::timed;
    return is_far_ ? Copy::past : Copy::plain;
  }
  /// @param bytes that were copied with plain stores. @param time that took until all were done.
  void took(std::uint64_t bytes, Duration time) noexcept {
    const Duration near = kClock + Duration{static_cast<std::int64_t>(bytes / kNearBytes)};
    score_ = std::clamp(score_ + (time > near ? 1 : -1), -kSure, kSure);
    if (score_ == kSure) is_far_ = true;
    if (score_ == -kSure) is_far_ = false;
  }
  /// @return whether they share none, as far as is known.
  [[nodiscard]] bool is_far() const noexcept { return is_far_; }

 private:
  static constexpr std::uint64_t kLeastTimed = 1024;  ///< Shorter ones are over too soon.
  static constexpr std::uint32_t kTimedOfNear = 16;   ///< Of so many copies one is timed,
  static constexpr std::uint32_t kTimedOfFar = 64;    ///< and fewer where it costs as much.
  static constexpr std::uint64_t kNearBytes = 8;      ///< In a nanosecond, at least.
  static constexpr Duration kClock{60};               ///< That reading it takes, twice.
  static constexpr int kSure = 3;                     ///< One copy may be held up by anything.
  std::uint32_t copies_ = 0;
  int score_ = 0;
  bool is_far_ = false;
};

}  // namespace tutti::shm
