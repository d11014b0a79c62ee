/// @file
/// When a candidate has been measured enough: decided on rank 0, from samples alone.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// Fewest rounds without -n: the least number whose signed-rank test can be significant.
inline constexpr std::size_t kFewestRounds = 8;
/// Fewest rounds after which a candidate may stop early because it is known precisely.
inline constexpr std::size_t kFewestPrecise = 60;
/// Half the width of the interval, relative to the median, that counts as precise.
inline constexpr double kPrecise = 0.025;
/// The same for the ratio to the best candidate, where it is a close race.
inline constexpr double kPreciseRatio = 0.015;
/// Beyond this ratio the race is not close.
inline constexpr double kCloseRace = 1.15;
/// Time of one sample of a small operation: far above the clock's cost and the start's skew.
inline constexpr double kSample_us = 50;
/// The same where ranks outnumber cores and each has to have its turn to start.
inline constexpr double kCrowdedSample_us = 1000;
/// The same on a stream of a GPU, which is idle until the host has enqueued the first call.
inline constexpr double kStreamSample_us = 500;
/// How long each rank computes before an isolated call: above what leaving a barrier takes, and
/// short enough for processors to stay awake.
inline constexpr double kPause_us = 5;
/// Most calls in one sample.
inline constexpr double kMostCalls = 1000;
/// How long the sample of a slow candidate may take to have as many calls as the others.
inline constexpr double kMostSample_us = 5000;

/// One candidate under way.
struct CandidateProgress {
  const std::vector<double>& times_us;  ///< Its samples so far.
  double spent_s = 0;                   ///< Wall time spent on it.
  bool active = true;                   ///< Whether it is still being measured.
};

/// @param runs all candidates of a size. @param options the flags. @return which stay active.
[[nodiscard]] std::vector<bool> unfinished(const std::vector<CandidateProgress>& runs,
                                           const SweepOptions& options);

/// As many calls for all candidates, since calls that follow each other may overlap: one by itself
/// takes the whole way from the first rank to the last, one of many only its own work. A candidate
/// that would need very long for them gets fewer.
/// @param call_us time of one call. @param quickest_us that of the quickest candidate.
/// @param sample_us kSample_us or kCrowdedSample_us. @return calls to put into one sample.
[[nodiscard]] std::int64_t calls_per_sample(double call_us, double quickest_us, double sample_us);

}  // namespace tutti::perf
