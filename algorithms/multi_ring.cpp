// Multi-ring: the vector is cut into as many pieces as there are rings through the network, in both
// directions, that share no link; each piece is reduced on its ring, all at once.
// Rounds 2(n-1); bytes sent per rank 2(n-1)/n of the vector, over as many links at a time as there
// are rings. Rings, complete graphs, tori and hypercubes; commutative operators. Rings of both
// directions, and several at once, are those of NCCL and RCCL. Wins for the largest vectors where
// one link does not use up what a rank can send; multitree has fewer rounds.
#include <tutti/graph.hpp>

#include "hamiltonian.hpp"
#include "patterns.hpp"

namespace tutti::algorithms {

Schedule multi_ring_all_reduce(const Shape& shape, Rank self) {
  const Graph& graph = graph_of(shape, "multi_ring:graph=torus:4x4");
  const std::vector<Rank> ranks = ranks_of(graph);
  std::vector<std::vector<Rank>> rings;
  for (const std::vector<int>& cycle : hamiltonian_cycles(graph)) {
    std::vector<Rank> ring;
    for (const int router : cycle) ring.push_back(ranks[static_cast<std::size_t>(router)]);
    rings.push_back(ring);
    // Up to two ranks both directions are one.
    if (shape.size > 2) rings.emplace_back(ring.rbegin(), ring.rend());
  }
  std::vector<Schedule> parts;
  for (std::size_t piece = 0; piece < rings.size(); ++piece) {
    const std::vector<Rank>& ring = rings[piece];
    const auto position = std::find(ring.begin(), ring.end(), self) - ring.begin();
    const Shape alone{.size = shape.size};
    const Schedule whole = then(ring_reduce_scatter(alone, static_cast<int>(position)),
                                ring_all_gather(alone, static_cast<int>(position)));
    parts.push_back(on_piece(on(ring, whole), static_cast<std::uint32_t>(piece),
                             static_cast<std::uint32_t>(rings.size())));
  }
  return side_by_side(parts);
}

}  // namespace tutti::algorithms
