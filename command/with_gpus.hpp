/// @file
/// How the ranks of a command get their GPUs.
#pragma once

#include <memory>

#include "perf/measured_world.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::command {

/// Attaches a GPU to each rank. Collective. @param world of ranks. @param options of the sweep:
/// what messages go by, and whether buffers are visible. @param timeout of the start, and of each
/// wait.
/// @return the world, whose calls are on streams. Throws Failure{environment} on all ranks alike
/// where a rank has no GPU of its own, or they do not see each other's memory and should; Error
/// where the ranks do not come together, or the GPU of one fails.
[[nodiscard]] std::unique_ptr<perf::MeasuredWorld> with_gpus(
    std::unique_ptr<perf::MeasuredWorld> world, const perf::SweepOptions& options,
    Duration timeout);

}  // namespace tutti::command
