/// @file
/// Fits costs to measured times, so that the choices of the model lose least.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/spi/costs.hpp>

#include "predict.hpp"

namespace tutti::v0::detail {

/// One choice at one size, measured.
struct TimedChoice {
  const Profile* profile = nullptr;  ///< The profile of the choice.
  std::size_t bytes = 0;             ///< Bytes of the whole vector.
  std::size_t segment_bytes = 0;     ///< As Profile::time.
  double time_us = 0;                ///< More than zero.
};

/// The choices measured at one size, between which a selector decides. Not empty.
using TimedRace = std::vector<TimedChoice>;

/// Fitted costs, and their errors.
struct Fit {
  LinkCosts costs{};        ///< The best fit.
  double loss = 1;          ///< Time of their choice over the least time, geometric mean.
  double median_error = 0;  ///< Median error of predictions: a factor less one.
};

/// @param races at least one. @return Fit::loss of the costs.
[[nodiscard]] double loss_of(std::span<const TimedRace> races, const LinkCosts& costs);

/// Fits the costs of messages, bytes, reductions and rounds, and half_duplex. The loss of the
/// resulting choices counts first, then the errors of predictions, most of all those of quick
/// choices. @param races at least one. @param start the first costs to try; members that are not
/// fitted keep its values. @return equal costs for equal races. Complexity: some thousand
/// predictions of each choice.
[[nodiscard]] Fit fit_costs(std::span<const TimedRace> races, const LinkCosts& start);

}  // namespace tutti::v0::detail
