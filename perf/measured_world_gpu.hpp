/// @file
/// A world in which each rank has a GPU.
#pragma once

#include <memory>

#include "perf/measured_world.hpp"

namespace tutti::perf {

/// @param world whose communicator has GPUs attached. @param gpu a stream of this rank's GPU; not
/// null. @return the world in which calls run on that stream. Its native calls are those of the
/// library that connects the GPUs.
[[nodiscard]] std::unique_ptr<MeasuredWorld> make_gpu_world(std::unique_ptr<MeasuredWorld> world,
                                                            std::unique_ptr<cuda::TimedStream> gpu);

}  // namespace tutti::perf
