/// @file
/// `tutti calibrate`: measures in seconds what messages cost, and keeps it in the tuning file.
#pragma once

#include "perf/measured_world.hpp"
#include "perf/tuning/options.hpp"

namespace tutti::perf {

/// Times every algorithm at a few sizes and fits the model's costs to it: among the ranks of one
/// host, and among ranks of as many hosts as there are, one on each. Collective. Throws
/// Failure{usage} where the file is malformed or of another machine, Failure{environment} where it
/// cannot be written. @param world the ranks. @param options of which buffers, path, seed and
/// transport count. @return the exit code, the same on all ranks.
[[nodiscard]] int calibrate(MeasuredWorld& world, const TuneOptions& options);

}  // namespace tutti::perf
