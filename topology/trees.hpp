/// @file
/// Which vertices of a network links join.
#pragma once

#include <cstddef>
#include <vector>

#include "topology.hpp"

namespace tutti::v0 {

/// @param vertices how many. @param links between them. @return a number for each vertex: equal for
/// two vertices if and only if links join them, perhaps through others.
[[nodiscard]] std::vector<int> trees_of(std::size_t vertices,
                                        const std::vector<Topology::Link>& links);

}  // namespace tutti::v0
