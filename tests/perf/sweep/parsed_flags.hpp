/// @file
/// Flags of tutti sweep from a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// @param arguments as on a command line. @return what they say. Throws CLI::Error.
inline SweepFlags parse(std::vector<std::string> arguments) {
  SweepFlags flags;
  CLI::App app;
  declare_flags(app, flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return flags;
}

}  // namespace tutti::perf
