/// @file
/// CoreContention: whether threads of other programs run on the cores of the ranks.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tutti::v0::detail {

/// Learns from the times that yields take. While other threads want the core, a thread that polls
/// uses up its time slice, and comes back milliseconds after its message; a thread that sleeps is
/// scheduled when a peer wakes it.
class CoreContention {
 public:
  using Clock = std::chrono::steady_clock;

  /// @return whether recent yields took long.
  [[nodiscard]] bool is_seen() const noexcept { return is_seen_; }
  /// Yields the core.
  void yield() noexcept {
    const Clock::time_point begin = Clock::now();
    std::this_thread::yield();
    note(begin, Clock::now());
  }
  /// Learns from a yield. @param begin when the core was offered. @param end when it came back.
  void note(Clock::time_point begin, Clock::time_point end) noexcept {
    long_yields_ = end - begin < kLongYield ? 0 : long_yields_ + 1;
    if (long_yields_ == 1) first_ = begin;
    if (long_yields_ < kLongYields || end - first_ < kStreak) return;
    long_yields_ = 0;
    lasts_ = end < until_ + lasts_ ? std::min(2 * lasts_, kLongest) : kShortest;
    until_ = end + lasts_;
    is_seen_ = true;
  }
  /// Forgets what was seen long ago, so that the next wait yields again.
  void expire() noexcept {
    if (is_seen_ && Clock::now() >= until_) is_seen_ = false;
  }

 private:
  /// More than an interrupt, less than the polls of a peer that has the core meanwhile.
  static constexpr std::chrono::microseconds kLongYield{80};
  /// The least number of long yields without a short one, and their least time. The system moves a
  /// rank that shares its core with a peer to an idle core in less, but only if both are running:
  /// ranks that sleep would stay there.
  static constexpr int kLongYields = 5;
  static constexpr std::chrono::milliseconds kStreak{20};
  /// The time until the next look, doubled while others still run.
  static constexpr std::chrono::milliseconds kShortest{50};
  static constexpr std::chrono::milliseconds kLongest{1600};

  bool is_seen_ = false;
  std::chrono::milliseconds lasts_ = kShortest;
  Clock::time_point until_{};
  int long_yields_ = 0;  // since the last short one
  Clock::time_point first_{};
};

}  // namespace tutti::v0::detail
