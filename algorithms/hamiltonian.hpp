/// @file
/// Rings through all routers of a network that share no link.
#pragma once

#include <vector>

#include <tutti/graph.hpp>

namespace tutti {

/// Edge-disjoint Hamiltonian cycles: one of a ring; two of a torus of two sides from 3 on where one
/// divides the other, if what the first leaves is one ring, too; (n-1)/2, rounded down, of a
/// complete graph. Throws Error{invalid_argument} for other graphs, of which none are known here.
/// @param graph any. @return each cycle as its routers in turn.
[[nodiscard]] std::vector<std::vector<int>> hamiltonian_cycles(const Graph& graph);

}  // namespace tutti
