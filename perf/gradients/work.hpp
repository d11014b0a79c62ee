/// @file
/// Replaces a model's computation by the work for a given time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "perf/gradients/options.hpp"

namespace tutti::perf {

/// Computes fixed amounts of work, which take the requested time on an undisturbed machine. A
/// disturbance makes a step longer, as with a model.
class Work {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param kind work or sleep.
  explicit Work(Computing kind);

  /// Measures the speed of this rank in about 60 ms. @return passes per second.
  [[nodiscard]] std::int64_t calibrate();
  /// @param passes_per_s the speed that all ranks use.
  void set_rate(std::int64_t passes_per_s) noexcept { rate_ = static_cast<double>(passes_per_s); }

  /// Starts a step. @return the time.
  Clock::time_point begin() noexcept;
  /// Computes until a point of the step. @param point_s seconds after the start.
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
