/// @file
/// A world whose ranks have a GPU each.
#pragma once

#include <memory>

#include "perf/measured_world.hpp"

namespace tutti::perf {

/// @param world of ranks, to whose communicator GPUs are attached. @param gpu a stream of this
/// rank's; not null. @return the world, where calls are on that stream, and native ones are those
/// of the library that connects the GPUs.
[[nodiscard]] std::unique_ptr<MeasuredWorld> make_gpu_world(std::unique_ptr<MeasuredWorld> world,
                                                            std::unique_ptr<cuda::TimedStream> gpu);

}  // namespace tutti::perf
