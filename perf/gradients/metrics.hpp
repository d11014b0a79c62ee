/// @file
/// How well gradients are reduced while others are computed, from times alone.
#pragma once

#include <optional>
#include <span>

namespace tutti::perf {

/// The middle of a sample, and how far its middle half reaches. In the unit of the sample.
struct Quartiles {
  double low = 0;     ///< A quarter is at most this.
  double median = 0;  ///< Half are at most this.
  double high = 0;    ///< Three quarters are at most this.
};

/// @param samples at least one. @return their quartiles, with lines between neighbours.
[[nodiscard]] Quartiles quartiles_of(std::span<const double> samples);

/// A bucket, in the order in which buckets start. Times in any unit.
struct BucketCost {
  double ready = 0;  ///< When its last gradient is ready in a step without communication.
  double alone = 0;  ///< How long it is reduced where nothing else runs.
};

/// A step that computes without hindrance, and reduces one bucket after the other as soon as it is
/// ready. @param computing the time of a step without communication. @param buckets all of them.
/// @return its time.
[[nodiscard]] double ideal_step(double computing, std::span<const BucketCost> buckets);

/// Medians of one setting.
struct StepTimes {
  double computing = 0;   ///< A step without communication.
  double serial = 0;      ///< One that communicates when all is computed.
  double overlapped = 0;  ///< One that communicates as gradients are ready.
  double ideal = 0;       ///< See ideal_step.
};

/// @param times of a setting. @return by how much communication makes a step longer.
[[nodiscard]] double exposed(const StepTimes& times) noexcept;
/// @param times of a setting. @return the share of communication that computing has hidden; nothing
/// where there is none.
[[nodiscard]] std::optional<double> hidden_share(const StepTimes& times) noexcept;
/// @param times of a setting. @return of the time that the ideal step saves, the share that was
/// saved; nothing where that saves none.
[[nodiscard]] std::optional<double> overlap_efficiency(const StepTimes& times) noexcept;

}  // namespace tutti::perf
