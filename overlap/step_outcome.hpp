/// @file
/// The sums of all ranks at the end of a step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::v0::detail {

/// One small all_reduce adds up all that ranks must agree on.
struct StepOutcome {
  static constexpr std::size_t kWords = 9;
  std::size_t ranks;
  std::vector<double> sums;

  explicit StepOutcome(std::size_t n) : ranks{n}, sums(kWords + n) {}
  double& step() { return sums[0]; }
  double& step_squared() { return sums[1]; }
  double& problems() { return sums[2]; }
  double& not_finite() { return sums[3]; }
  double& active() { return sums[4]; }
  double& norm_squared() { return sums[5]; }
  double& callbacks() { return sums[6]; }
  double& hash() { return sums[7]; }  // of 32 bits on each rank, so it is exact
  double& cut_short() { return sums[8]; }
  /// @return by rank: seconds from the last agreement of ranks to wait.
  std::span<double> arrivals() { return std::span{sums}.subspan(kWords, ranks); }
  /// @return the factor from the mean of all ranks to the mean of those that take part.
  [[nodiscard]] double mean_factor(bool is_average) {
    const auto size = static_cast<double>(ranks);
    return is_average && active() > 0 && active() < size ? size / active() : 1;
  }
};

}  // namespace tutti::v0::detail
