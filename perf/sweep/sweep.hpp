/// @file
/// A whole sweep: every candidate of every chosen collective, over every size.
#pragma once

#include <string>

#include "perf/measured_world.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// Measures, prints the table, and writes the files that the options name. Collective. Throws
/// Failure{usage} on all ranks if the options do not fit this world.
/// @param who prefix of error messages, such as "tutti sweep".
/// @return the exit status, the same on all ranks.
[[nodiscard]] int run_sweep(MeasuredWorld& world, const std::string& who,
                            const SweepOptions& options);

}  // namespace tutti::perf
