/// @file
/// Rings through all routers of a network that share no link.
#pragma once

#include <vector>

#include <tutti/spi/graph.hpp>

namespace tutti::v0 {

/// Edge-disjoint Hamiltonian cycles, half as many as a router has links. A ring has one; a complete
/// graph (n-1)/2, rounded down; a torus one for each side from 3 on, and one for each two sides of
/// 2. A hypercube is a torus of sides of 2. Throws Error{invalid_argument} for other graphs, and
/// for large tori of more than two sides, or with sides of 2, if the search fails. Graph::rings
/// caches them. @return each cycle as its routers, in order.
[[nodiscard]] std::vector<std::vector<int>> hamiltonian_cycles(const Graph& graph);

/// The cycles of a torus, by search. @param sides at least two, of lengths from 2 on. @return each
/// cycle as its routers, in order; empty if the search was too long.
[[nodiscard]] std::vector<std::vector<int>> torus_rings(const std::vector<int>& sides);

/// A Hamiltonian cycle of a torus of two sides whose other links form one too. @param rows at least
/// 3. @param columns at least 3. @return its routers, in order.
[[nodiscard]] std::vector<int> long_torus_ring(int rows, int columns);

}  // namespace tutti::v0
