/// @file
/// Measures how fast the network between two hosts is.
#pragma once

#include <tutti/communicator.hpp>

#include "topology/network_speed.hpp"

namespace tutti::runtime {

/// Collective: rank 0 sends to rank 1, some MiB at the most.
/// @param pair two ranks on different hosts. @return what rank 0 measured, unknown on rank 1.
/// Throws what its collectives throw.
[[nodiscard]] NetworkSpeed measure_network(Communicator& pair);

}  // namespace tutti::runtime
