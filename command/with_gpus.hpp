/// @file
/// Assigns GPUs to the ranks of a command.
#pragma once

#include <memory>

#include "perf/measured_world.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::command {

/// Attaches a GPU to each rank. Collective. @param options transport of GPUs, and whether buffers
/// are visible. @param timeout of the start, and of each wait. @return the world, whose calls run
/// on streams. Throws Failure{environment} on all ranks if a rank has no GPU of its own, or if
/// buffers are to be visible and GPUs cannot access each other's memory; Error if a rank is missing
/// or its GPU fails.
[[nodiscard]] std::unique_ptr<perf::MeasuredWorld> with_gpus(
    std::unique_ptr<perf::MeasuredWorld> world, const perf::SweepOptions& options,
    Duration timeout);

}  // namespace tutti::command
