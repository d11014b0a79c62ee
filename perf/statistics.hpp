/// @file
/// Statistics of a sweep's samples: order statistics, and a paired comparison of two
/// candidates that ran in the same rounds. Nothing here assumes a distribution.
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
  Interval interval{};      ///< Of the median, at 95% confidence, from order statistics.
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

/// @param samples how many, at least 1. @return the ranks; the whole range below
/// kFewestForInterval.
[[nodiscard]] OrderRanks median_ranks(std::size_t samples);

/// @param samples at least one. @return its order statistics.
[[nodiscard]] Summary summarize(std::span<const double> samples);

/// @param samples at least one. @return the middle one, or the mean of the middle two.
[[nodiscard]] double median_of(std::span<const double> samples);

/// How much longer one candidate took than another, round by round.
struct Comparison {
  std::size_t pairs = 0;    ///< Rounds in which both took part.
  double ratio = 1;         ///< Median of the ratios.
  Interval interval{1, 1};  ///< Of that median, at 95% confidence.
  double p = 1;             ///< Two-sided Wilcoxon signed-rank test that the ratio is 1.

  /// Below this probability a difference is taken for real.
  static constexpr double kSignificance = 0.01;
  /// Differences below this are of no use to anybody and count as a tie.
  static constexpr double kRelevance = 0.02;

  /// @return whether the candidate is slower than the reference: significantly and relevantly.
  [[nodiscard]] bool slower() const noexcept {
    return p < kSignificance && ratio >= 1 + kRelevance;
  }
};

/// Compares two candidates by the ratios of their times in the same rounds. Because each round is
/// shuffled, two equal candidates give ratios above and below 1 equally often, however the machine
/// drifts; so the test is exact.
/// @param times of the candidate, all positive. @param reference as many, in the same rounds.
/// @return the comparison.
[[nodiscard]] Comparison compare(std::span<const double> times, std::span<const double> reference);

/// @param differences signed, in any order. @return the two-sided p-value of the Wilcoxon
/// signed-rank test that they are symmetric about 0: exact up to 30 of them.
[[nodiscard]] double signed_rank_p(std::span<const double> differences);

/// @param values all positive. @return their geometric mean, or 1 if there are none.
[[nodiscard]] double geometric_mean(std::span<const double> values);

}  // namespace tutti::perf
