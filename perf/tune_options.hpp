/// @file
/// What `tutti tune` is asked for.
#pragma once

#include <string>
#include <vector>

#include "perf/sweep_options.hpp"

namespace tutti::perf {

/// What to measure, and where to.
struct TuneOptions {
  SweepOptions sweep{};                ///< Collectives, sizes, transport, budget.
  std::vector<std::string> buffers{};  ///< Kinds: "private", "visible".
  std::string path{};                  ///< The tuning file.
  bool again = false;                  ///< Whether to measure what it has already.
};

}  // namespace tutti::perf
