/// @file
/// What `tutti tune` is asked for.
#pragma once

#include <string>
#include <vector>

#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// What to measure, and where to.
struct TuneOptions {
  SweepOptions sweep{};                  ///< Collectives, sizes, transport, budget.
  std::vector<std::string> buffers{};    ///< Kinds: "private", "visible".
  std::string path{};                    ///< The tuning file.
  bool again = false;                    ///< Whether to measure what it has already.
  std::string html{};                    ///< The page to write; empty: none.
  std::string page_command{};            ///< That writes it, on rank 0.
  std::vector<std::string> arguments{};  ///< A command line that repeats the measurement.
};

}  // namespace tutti::perf
