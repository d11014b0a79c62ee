/// @file
/// Costs that were measured: those with which the model chooses best among what was timed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/spi/costs.hpp>

#include "predict.hpp"

namespace tutti::v0::detail {

/// One choice at one size, measured.
struct TimedChoice {
  const Profile* profile = nullptr;  ///< Of the choice.
  std::size_t bytes = 0;             ///< Of the whole vector.
  std::size_t segment_bytes = 0;     ///< As Profile::time.
  double time_us = 0;                ///< More than zero.
};

/// The choices that were measured at one size: what a selector decides between. Not empty.
using TimedRace = std::vector<TimedChoice>;

/// Costs, and what they leave unexplained.
struct Fit {
  LinkCosts costs{};        ///< What fits best.
  double loss = 1;          ///< Time of what they choose over the least time, geometric mean.
  double median_error = 0;  ///< Of predictions, as a factor less one.
};

/// @param races at least one. @param costs any. @return Fit::loss of them.
[[nodiscard]] double loss_of(std::span<const TimedRace> races, const LinkCosts& costs);

/// Fits message, byte, reduction and round costs, and whether bytes in and out are paid for both.
/// What counts is first what the choices that follow from them lose, and then how far predictions
/// are off, where it is near the best. @param races at least one. @param start what to begin with;
/// its other members stay. @return the same for the same races. Complexity: some thousand
/// predictions of each choice.
[[nodiscard]] Fit fit_costs(std::span<const TimedRace> races, const LinkCosts& start);

}  // namespace tutti::v0::detail
