/// @file
/// The records from which tune.py writes the page of `tutti tune`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "perf/measured_world.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/context.hpp"
#include "perf/tuning/options.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// What the model's choice took, where this run measured it. The file keeps no such times.
struct ModelTime {
  detail::TunedPlace place{};  ///< Where.
  std::size_t bytes = 0;       ///< Of the whole vector.
  Summary summary{};           ///< In microseconds.
};

/// What a page is made of.
struct TunePage {
  const Context& context;                ///< Where, with what and how.
  const TuneOptions& options;            ///< What was asked for.
  const detail::Tuning& tuning;          ///< All that the file says.
  std::span<const ModelTime> automatic;  ///< Of this run.
  std::string transport{};               ///< Of the ranks at hand, as detail::TunedPlace.
  int hosts = 1;                         ///< On which they are.
};

/// On rank 0. Of the tables of the ranks at hand: their rules, their cells, and at each of their
/// sizes what the model would choose. @param page what it is made of. @param world the ranks.
/// @return JSON, a record each.
[[nodiscard]] std::vector<std::string> lines_of(const TunePage& page, MeasuredWorld& world);

}  // namespace tutti::perf
