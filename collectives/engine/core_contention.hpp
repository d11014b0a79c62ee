/// @file
/// The detection of other programs that run on the cores of the ranks.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tutti::v0::detail {

/// Measures the times of yields. While other threads want the core, a polling thread uses up its
/// time slice, and gets the core back milliseconds after its message has come. A sleeping thread is
/// scheduled when a peer wakes it.
class CoreContention {
 public:
  using Clock = std::chrono::steady_clock;

  /// @return whether recent yields were long.
  [[nodiscard]] bool is_seen() const noexcept { return is_seen_; }
  /// Yields the core.
  void yield() noexcept {
    const Clock::time_point begin = Clock::now();
    std::this_thread::yield();
    note(begin, Clock::now());
  }
  /// Notes a yield. @param begin its start. @param end when this thread had the core again.
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
  /// A long yield: longer than an interrupt, shorter than the polls of a peer on the same core.
  static constexpr std::chrono::microseconds kLongYield{80};
  /// Contention is seen after this many long yields without a short one, over at least this time.
  /// In less, the system moves one of two ranks on a core to an idle core, but only while both run:
  /// ranks that sleep would stay there.
  static constexpr int kLongYields = 5;
  static constexpr std::chrono::milliseconds kStreak{20};
  /// The time for which contention is assumed, doubled while others still run.
  static constexpr std::chrono::milliseconds kShortest{50};
  static constexpr std::chrono::milliseconds kLongest{1600};

  bool is_seen_ = false;
  std::chrono::milliseconds lasts_ = kShortest;
  Clock::time_point until_{};
  int long_yields_ = 0;  // since the last short one
  Clock::time_point first_{};
};

}  // namespace tutti::v0::detail
