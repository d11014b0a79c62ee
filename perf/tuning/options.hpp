/// @file
/// The options of `tutti tune`.
#pragma once

#include <string>
#include <vector>

#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// The measurement, and its files.
struct TuneOptions {
  SweepOptions sweep{};                  ///< Collectives, sizes, transport, budget.
  std::vector<std::string> buffers{};    ///< Kinds: "private", "visible".
  std::string path{};                    ///< The tuning file.
  bool again = false;                    ///< Whether to measure again cells that the file has.
  std::string html{};                    ///< The page to write; empty: none.
  std::string page_command{};            ///< Command that writes the page, on rank 0.
  std::vector<std::string> arguments{};  ///< A command line that repeats the measurement.
};

}  // namespace tutti::perf
