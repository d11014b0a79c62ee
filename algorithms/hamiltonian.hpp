/// @file
/// Rings through all routers of a network that share no link.
#pragma once

#include <vector>

#include <tutti/spi/graph.hpp>

namespace tutti::v0 {

/// Edge-disjoint Hamiltonian cycles, as many as half of a router's links: one of a ring; (n-1)/2,
/// rounded down, of a complete graph; of a torus one for each side from 3 on, and for each two
/// sides of 2, which are all that a hypercube has. Throws Error{invalid_argument} for other graphs,
/// of which none are known here, and for large tori of more than two sides, or with sides of 2,
/// where none are found. Graph::rings remembers them.
/// @param graph any. @return each cycle as its routers in turn.
[[nodiscard]] std::vector<std::vector<int>> hamiltonian_cycles(const Graph& graph);

/// Those of a torus, by search. @param sides of two or more, at least two sides. @return each as
/// its routers in turn; none where the search has not come to an end.
[[nodiscard]] std::vector<std::vector<int>> torus_rings(const std::vector<int>& sides);

/// A Hamiltonian cycle of a torus of two sides whose other links are one too.
/// @param rows three or more. @param columns three or more. @return its routers in turn.
[[nodiscard]] std::vector<int> long_torus_ring(int rows, int columns);

}  // namespace tutti::v0
