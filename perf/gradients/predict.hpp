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

/// What a bucket of so many bytes takes by itself, in seconds.
using BucketTime = std::function<double(double bytes)>;

/// A bucket size and the step it comes to.
struct Prediction {
  GradientSetting setting{};  ///< With that size.
  double ideal_s = 0;         ///< See ideal_step.
  std::size_t buckets = 0;    ///< Of its plan.
};

/// Of sizes that are powers of two, a bucket for each tensor and one for all, takes the one with
/// the fewest buckets whose ideal step is within 1% of the shortest one: what a bucket costs beside
/// the time of its reduction is not known. @param model with times. @param setting all but its
/// size.
/// @param time of a bucket. @param may_lie_in_place see GradientOptions::in_place_bytes.
/// @return the best.
[[nodiscard]] Prediction predict_bucket(const Model& model, const GradientSetting& setting,
                                        const BucketTime& time, bool may_lie_in_place);

/// Chooses the size of all settings that ask for it. Collective. It measures all_reduce of sizes
/// that are powers of four; between them times are on straight lines. @param world the ranks.
/// @param model with times. @param options whose settings are completed; one that means the same as
/// another one is left out. @return a line for each that was chosen.
std::string predict_buckets(Communicator& world, const Model& model, GradientsOptions& options);

}  // namespace tutti::perf
