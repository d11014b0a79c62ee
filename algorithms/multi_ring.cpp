// Multi-ring: the rings through the network share no link, and run in both directions. The vector
// is cut into a piece for each ring; all pieces are reduced at once, each on its ring. Rounds
// 2(n-1); bytes sent per rank 2(n-1)/n of the vector, over as many links at a time as there are
// rings. Rings, complete graphs, tori and hypercubes; commutative operators. Rings of both
// directions, and several at once, are those of NCCL and RCCL. Wins for the largest vectors if one
// link is slower than a rank can send; multitree has fewer rounds.
#include <tutti/spi/graph.hpp>

#include "patterns.hpp"

namespace tutti::v0::algorithms {
namespace {

/// One ring, seen from a rank.
struct RingView {
  Cycle cycle;  // of positions
  Rank next, last;
  std::uint32_t piece;

  [[nodiscard]] Slots unit(int distance) const {
    return {Space::out, piece * unsigned_of(cycle.size) + unsigned_of(cycle.at(distance))};
  }
};

/// Rings in both directions. Up to two ranks both directions are the same.
std::vector<RingView> rings_of(const Graph& graph, Rank self) {
  const std::vector<Rank> ranks = ranks_of(graph);
  const int n = graph.routers();
  std::vector<RingView> rings;
  for (const std::vector<int>& ring : graph.rings()) {
    const auto found = std::find(ring.begin(), ring.end(), graph.router_of(self));
    const Cycle cycle{n, static_cast<Rank>(found - ring.begin())};
    const auto rank = [&](int distance) {
      const int router = ring[static_cast<std::size_t>(cycle.at(distance))];
      return ranks[static_cast<std::size_t>(router)];
    };
    const Cycle back{n, n - 1 - cycle.self};
    rings.push_back({cycle, rank(1), rank(-1), unsigned_of(static_cast<int>(rings.size()))});
    if (n > 2)
      rings.push_back({back, rank(-1), rank(1), unsigned_of(static_cast<int>(rings.size()))});
  }
  return rings;
}

}  // namespace

Schedule multi_ring_all_reduce(const Shape& shape, Rank self) {
  const Graph& graph = graph_of(shape, "multi_ring:graph=torus:4x4");
  const std::vector<RingView> rings = rings_of(graph, self);
  const int n = shape.size;
  Schedule schedule{unsigned_of(n * static_cast<int>(rings.size()))};
  if (n == 1) return schedule.finish({});
  schedule.reserve(rings.size() * (4 * static_cast<std::size_t>(n - 1) + 1));
  // The steps of ring.cpp, on all rings at once. Rings are too many and too long to join their
  // schedules.
  for (int k = 1; k < 2 * n - 1; ++k) {
    for (const RingView& ring : rings) {
      const Slots received = ring.unit(-k - 1);
      schedule.add(Send{ring.next, ring.unit(-k)});
      if (k < n) schedule.add(RecvReduce{ring.last, received});
      else schedule.add(Recv{ring.last, received});
      if (k == n - 1) schedule.add(Finish{received});
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace tutti::v0::algorithms
