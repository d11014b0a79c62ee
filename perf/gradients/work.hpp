/// @file
/// What stands for a model's computing: as much of it as takes a wanted time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "perf/gradients/options.hpp"

namespace tutti::perf {

/// Computes by the clock of an undisturbed machine: amounts of work are fixed before, so that what
/// takes time from it makes a step longer, as it does with a model.
class Work {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param kind whether to work or to sleep.
  explicit Work(Computing kind);

  /// Finds out how fast this rank works; it takes some 60 ms. @return passes in a second.
  [[nodiscard]] std::int64_t calibrate();
  /// @param passes_per_s that all ranks are to assume.
  void set_rate(std::int64_t passes_per_s) noexcept { rate_ = static_cast<double>(passes_per_s); }

  /// A step begins. @return when.
  Clock::time_point begin() noexcept;
  /// Goes on to a point of the step. @param point_s after its begin.
  void until(double point_s);

 private:
  void pass(std::int64_t times) noexcept;

  Computing kind_;
  std::vector<float> array_;  // fits in the first cache of any processor
  double rate_ = 0;
  std::int64_t done_ = 0;  // passes of this step
  Clock::time_point begun_{};
};

}  // namespace tutti::perf
