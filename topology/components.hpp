/// @file
/// Connected components of a network.
#pragma once

#include <cstddef>
#include <vector>

#include "topology.hpp"

namespace tutti::v0 {

/// @return a number for each vertex, equal for vertices that are connected by links.
[[nodiscard]] std::vector<int> components_of(std::size_t vertices,
                                             const std::vector<Topology::Link>& links);

}  // namespace tutti::v0
