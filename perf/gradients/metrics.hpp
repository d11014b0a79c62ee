/// @file
/// Measures of the overlap of reduction and computation, from times alone.
#pragma once

#include <optional>
#include <span>

namespace tutti::perf {

/// Quartiles of a sample, in the unit of the sample.
struct Quartiles {
  double low = 0;     ///< A quarter is at most this.
  double median = 0;  ///< Half are at most this.
  double high = 0;    ///< Three quarters are at most this.
};

/// @param samples at least one. @return their quartiles, interpolated linearly.
[[nodiscard]] Quartiles quartiles_of(std::span<const double> samples);

/// A bucket. Buckets are listed in the order in which they start. Times in any unit.
struct BucketCost {
  double ready = 0;  ///< Time at which its last gradient is ready in a step without communication.
  double alone = 0;  ///< Time of its reduction without computation.
};

/// @return the time of a step that computes at full speed, and reduces one bucket after the other
/// as soon as it is ready. @param computing the time of a step without communication. @param
/// buckets all of them.
[[nodiscard]] double ideal_step(double computing, std::span<const BucketCost> buckets);

/// Medians of one setting.
struct StepTimes {
  double computing = 0;   ///< A step without communication.
  double serial = 0;      ///< A step that communicates after all computation.
  double overlapped = 0;  ///< A step that communicates as gradients become ready.
  double ideal = 0;       ///< See ideal_step.
};

/// @return the time that communication adds to a step.
[[nodiscard]] double exposed(const StepTimes& times) noexcept;
/// @return the share of communication that computation hides; nothing without communication.
[[nodiscard]] std::optional<double> hidden_share(const StepTimes& times) noexcept;
/// @return the time that was saved, as a share of the time that the ideal step saves; nothing if
/// the ideal step saves none.
[[nodiscard]] std::optional<double> overlap_efficiency(const StepTimes& times) noexcept;

}  // namespace tutti::perf
