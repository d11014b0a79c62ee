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

/// Time of the model's choice, if this run measured it. The file has no such times.
struct ModelTime {
  detail::TunedPlace place{};  ///< Place of the measurement.
  std::size_t bytes = 0;       ///< Size of the whole vector.
  Summary summary{};           ///< Microseconds.
};

/// The input of a page.
struct TunePage {
  const Context& context;                ///< Machine, software and settings.
  const TuneOptions& options;            ///< The options of the command.
  const detail::Tuning& tuning;          ///< The contents of the file.
  std::span<const ModelTime> automatic;  ///< Times of this run.
  std::string transport{};               ///< Transport of these ranks, as in detail::TunedPlace.
  int hosts = 1;                         ///< Number of hosts of these ranks.
};

/// Call it on rank 0. @return JSON records about the tables that apply to these ranks: their rules,
/// their cells, and the choice of the model at each size.
[[nodiscard]] std::vector<std::string> lines_of(const TunePage& page, MeasuredWorld& world);

}  // namespace tutti::perf
