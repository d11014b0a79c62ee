/// @file
/// The rule that ends the measurement of a candidate. Rank 0 applies it, to samples alone.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// Fewest rounds without -n: the least number for which the signed-rank test can be significant.
inline constexpr std::size_t kFewestRounds = 8;
/// Fewest rounds after which a candidate that is measured precisely may stop early.
inline constexpr std::size_t kFewestPrecise = 60;
/// A median is precise if half the width of its interval, relative to it, is at most this.
inline constexpr double kPrecise = 0.025;
/// The same for the ratio to the best candidate, in a close race.
inline constexpr double kPreciseRatio = 0.015;
/// A race is close up to this ratio to the best candidate.
inline constexpr double kCloseRace = 1.15;
/// Least time of a sample: far above the resolution of the clock and the skew at the start.
inline constexpr double kSample_us = 50;
/// Least time of a sample if ranks outnumber cores, so that each rank must be scheduled before it
/// starts.
inline constexpr double kCrowdedSample_us = 1000;
/// Least time of a sample on a stream of a GPU, which is idle until the host has enqueued the first
/// call.
inline constexpr double kStreamSample_us = 500;
/// Time that each rank computes before an isolated call: longer than ranks need to leave a barrier,
/// and short enough for processors to stay awake.
inline constexpr double kPause_us = 5;
/// Most calls in one sample.
inline constexpr double kMostCalls = 1000;
/// A slow candidate gets fewer calls per sample than the others if its sample would take longer
/// than this.
inline constexpr double kMostSample_us = 5000;

/// The state of one candidate's measurement.
struct CandidateProgress {
  const std::vector<double>& times_us;  ///< Its samples so far.
  double spent_s = 0;                   ///< Wall time spent on it.
  bool active = true;                   ///< Whether it is still being measured.
};

/// @param runs all candidates of a size. @return for each, whether its measurement continues.
[[nodiscard]] std::vector<bool> unfinished(const std::vector<CandidateProgress>& runs,
                                           const SweepOptions& options);

/// All candidates get the same number of calls per sample, because calls in a row overlap: a single
/// call pays the whole latency, a call in a row only its own work. A very slow candidate gets
/// fewer. @param call_us time of one call. @param quickest_us time of the fastest candidate's call.
/// @param sample_us least time of a sample.
[[nodiscard]] std::int64_t calls_per_sample(double call_us, double quickest_us, double sample_us);

}  // namespace tutti::perf
