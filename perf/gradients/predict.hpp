/// @file
/// The bucket size with the shortest ideal step, found without running steps.
#pragma once

#include <functional>
#include <string>

#include <tutti/communicator.hpp>

#include "perf/gradients/alone.hpp"
#include "perf/gradients/metrics.hpp"
#include "perf/gradients/model.hpp"
#include "perf/gradients/options.hpp"

namespace tutti::perf {

/// Time of reducing a bucket without computation, in seconds.
using BucketTime = std::function<double(double bytes)>;

/// A bucket size and the resulting step.
struct Prediction {
  GradientSetting setting{};  ///< With that size.
  double ideal_s = 0;         ///< See ideal_step.
  std::size_t buckets = 0;    ///< Number of buckets.
};

/// Tries sizes that are powers of two, one bucket per tensor, and one bucket for all. Takes the
/// size with the fewest buckets whose ideal step is within 1% of the shortest, because a bucket has
/// costs besides its reduction, which are unknown. @param model with times. @param
/// setting with any size. @param time of a bucket. @param may_lie_in_place see
/// GradientOptions::in_place_bytes.
[[nodiscard]] Prediction predict_bucket(const Model& model, const GradientSetting& setting,
                                        const BucketTime& time, bool may_lie_in_place);

/// Chooses the size of all settings that request it. Collective. It measures all_reduce of sizes
/// that are powers of four, and interpolates linearly between them. @param model with times. @param
/// options whose settings are completed. A setting that becomes equal to another one is removed.
/// @return a line for each chosen size.
std::string predict_buckets(Communicator& world, const Model& model, GradientsOptions& options);

}  // namespace tutti::perf
