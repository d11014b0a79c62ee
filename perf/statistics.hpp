/// @file
/// Statistics of a sweep's samples: order statistics, and a paired comparison of two candidates
/// that ran in the same rounds. They assume no distribution.
#pragma once

#include <cstddef>
#include <span>

namespace tutti::perf {

/// Two bounds.
struct Interval {
  double low = 0;   ///< Lower bound.
  double high = 0;  ///< Upper bound.
};

/// Order statistics of a sample, in the unit of the sample.
struct Summary {
  std::size_t samples = 0;  ///< How many there were.
  double min = 0;           ///< Least.
  double p10 = 0;           ///< 10% are at most this.
  double median = 0;        ///< Half are at most this.
  Interval interval{};      ///< 95% confidence interval of the median, from order statistics.
  double p90 = 0;           ///< 90% are at most this.
  double p99 = 0;           ///< 99% are at most this.
  double max = 0;           ///< Greatest.
};

/// The ranks of the two order statistics that enclose the median with 95% confidence.
struct OrderRanks {
  std::size_t low = 0;   ///< Index of the lower one, from 0.
  std::size_t high = 0;  ///< Index of the upper one, from 0.
};

/// Fewest samples whose range encloses the median with 95% confidence.
inline constexpr std::size_t kFewestForInterval = 6;

/// @param samples their number, at least 1. @return the ranks; the whole range below
/// kFewestForInterval.
[[nodiscard]] OrderRanks median_ranks(std::size_t samples);

/// @param samples at least one.
[[nodiscard]] Summary summarize(std::span<const double> samples);

/// @param samples at least one. @return the middle one, or the mean of the middle two.
[[nodiscard]] double median_of(std::span<const double> samples);

/// Times of one candidate relative to another one, round by round.
struct Comparison {
  std::size_t pairs = 0;    ///< Rounds in which both took part.
  double ratio = 1;         ///< Median of the ratios.
  Interval interval{1, 1};  ///< 95% confidence interval of that median.
  double p = 1;  ///< P-value of the two-sided Wilcoxon signed-rank test that the ratio is 1.

  /// A difference is significant below this p-value.
  static constexpr double kSignificance = 0.01;
  /// A smaller difference has no practical use and counts as a tie.
  static constexpr double kRelevance = 0.02;

  /// @return whether the candidate is slower than the reference, significantly and relevantly.
  [[nodiscard]] bool slower() const noexcept {
    return p < kSignificance && ratio >= 1 + kRelevance;
  }
};

/// Compares two candidates by the ratios of their times in the same rounds. Each round is shuffled,
/// so two equal candidates have ratios above and below 1 equally often, even if the speed of the
/// machine changes. So the test is exact. @param times of the candidate, all positive. @param
/// reference times in the same rounds.
[[nodiscard]] Comparison compare(std::span<const double> times, std::span<const double> reference);

/// @return the two-sided p-value of the Wilcoxon signed-rank test that signed differences are
/// symmetric about 0: exact up to 30 of them.
[[nodiscard]] double signed_rank_p(std::span<const double> differences);

/// @param values all positive. @return 1 if there are none.
[[nodiscard]] double geometric_mean(std::span<const double> values);

}  // namespace tutti::perf
