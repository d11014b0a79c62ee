/// @file
/// When things happened in the last steps, for traces.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tutti::inline v0::detail {

/// When a bucket was reduced.
struct BucketTimes {
  using Time = std::chrono::steady_clock::time_point;
  Time begun{};   ///< Its copying in, then its first collective.
  Time middle{};  ///< The end of that.
  Time ended{};   ///< It has its result.
};

/// When a step was taken.
struct StepTimes {
  using Time = BucketTimes::Time;
  std::uint64_t step = 0;  ///< Counted from one.
  Time began{};
  Time waited{};                       ///< When wait was called.
  Time ended{};                        ///< When it returned.
  std::vector<Time> ready{};           ///< By parameter; the epoch where it was not.
  std::vector<BucketTimes> buckets{};  ///< By bucket.
};

/// The last steps. note_ready from any threads, the others from one.
class GradientRecord {
 public:
  using Time = BucketTimes::Time;
  GradientRecord(std::size_t steps, std::size_t parameters)
      : limit_{steps}, ready_(steps > 0 ? parameters : 0) {}
  [[nodiscard]] bool is_wanted() const noexcept { return limit_ > 0; }
  void note_ready(std::size_t parameter) noexcept {
    if (limit_ > 0)
      ready_[parameter].store(std::chrono::steady_clock::now().time_since_epoch().count(),
                              std::memory_order_relaxed);
  }
  /// Keeps a step, with what was noted of it, and forgets the oldest where there are too many.
  void keep(StepTimes step) {
    for (auto& ready : ready_)
      step.ready.emplace_back(std::chrono::steady_clock::duration{ready.exchange(0)});
    steps_.push_back(std::move(step));
    if (steps_.size() > limit_) steps_.pop_front();
  }
  [[nodiscard]] const std::deque<StepTimes>& steps() const noexcept { return steps_; }

 private:
  std::size_t limit_;
  std::vector<std::atomic<std::int64_t>> ready_;
  std::deque<StepTimes> steps_{};
};

}  // namespace tutti::inline v0::detail
