/// @file
/// `tutti calibrate`: measures the cost of messages, and writes it to the tuning file. It takes
/// seconds.
#pragma once

#include "perf/measured_world.hpp"
#include "perf/tuning/options.hpp"

namespace tutti::perf {

/// Times every algorithm at a few sizes, and fits the costs of the model to the times: among the
/// ranks of one host, and among one rank of each host. Collective. Throws Failure{usage} if the
/// file is malformed or of another machine, Failure{environment} if it cannot be written. @param
/// options only buffers, path, seed and transport are read. @return the exit code, the same on all
/// ranks.
[[nodiscard]] int calibrate(MeasuredWorld& world, const TuneOptions& options);

}  // namespace tutti::perf
