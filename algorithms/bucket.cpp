// Bucket: on a torus, a ring along each side in turn. Each works on the part of the vector that the
// ring before has left. Rounds 2 sum(sides - 1), half of that for reduce-scatter and all-gather;
// bytes sent per rank 2(n-1)/n of the vector, the least possible. Any torus, commutative operators.
// The "bucket" algorithm of Barnett, Littlefield, Payne and van de Geijn, 1993. Wins over the ring
// on tori, since it needs far fewer rounds and also sends to neighbours only; multitree loads all
// sides at once.
#include <tutti/spi/graph.hpp>

#include "patterns.hpp"
#include "refuse.hpp"

namespace tutti::v0::algorithms {
namespace {

/// One rank's ring along a side.
struct Dimension {
  int size;
  int position;               // of this rank in the ring
  std::vector<Rank> members;  // of the ring
  int piece;                  // number of its piece of the vector
  int pieces;                 // number of pieces
};

std::vector<Dimension> sides_of(const Shape& shape, Rank self) {
  const Graph& graph = graph_of(shape, "bucket:graph=torus:4x4");
  if (graph.family() != GraphFamily::torus && graph.family() != GraphFamily::ring)
    reject("it needs a torus such as torus:4x4, not " + graph.text());
  for (Rank rank = 0; rank < shape.size; ++rank)
    if (graph.router_of(rank) != rank) reject("it needs rank r on router r");
  std::vector<Dimension> sides;
  int pieces = 1;
  for (const int size : graph.numbers()) {
    const int stride = shape.size / pieces / size;
    Dimension side{size, self / stride % size, {}, self / stride / size, pieces};
    for (int at = 0; at < size; ++at) side.members.push_back(self + (at - side.position) * stride);
    sides.push_back(std::move(side));
    pieces *= size;
  }
  return sides;
}

Schedule along(const Dimension& side, Builder* ring) {
  const Schedule schedule = on(side.members, ring({.size = side.size}, side.position));
  return on_piece(schedule, unsigned_of(side.piece), unsigned_of(side.pieces));
}

}  // namespace

Schedule bucket_reduce_scatter(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (const Dimension& side : sides_of(shape, self))
    schedule = then(schedule, unfinished(along(side, ring_reduce_scatter)));
  return schedule.finish({Space::out, unsigned_of(self)});
}

Schedule bucket_all_gather(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (const Dimension& side : sides_of(shape, self))
    schedule = then(along(side, ring_all_gather), schedule);
  return schedule;
}

Schedule bucket_all_reduce(const Shape& shape, Rank self) {
  return then(bucket_reduce_scatter(shape, self), bucket_all_gather(shape, self));
}

}  // namespace tutti::v0::algorithms
