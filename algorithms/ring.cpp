// Ring: every rank sends to its right neighbour only.
// Rounds 2(n-1); bytes sent per rank 2(n-1)/n of the vector, the least possible. Any number of
// ranks, commutative operators. Patarasuk and Yuan, JPDC 69(2), 2009. Wins for large vectors and
// wherever links are shared; its latency grows with n, so it loses for small ones.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule ring_reduce_scatter(const Shape& shape, Rank self) {
  const Cycle ring{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  for (int k = 1; k < shape.size; ++k)
    schedule.round({Send{ring.at(1), ring.unit(-k)}, RecvReduce{ring.at(-1), ring.unit(-k - 1)}});
  return schedule.finish(ring.unit(0));
}

Schedule ring_all_gather(const Shape& shape, Rank self) {
  const Cycle ring{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  for (int k = 0; k < shape.size - 1; ++k)
    schedule.round({Send{ring.at(1), ring.unit(-k)}, Recv{ring.at(-1), ring.unit(-k - 1)}});
  return schedule;
}

Schedule ring_all_reduce(const Shape& shape, Rank self) {
  return then(ring_reduce_scatter(shape, self), ring_all_gather(shape, self));
}

}  // namespace tutti::v0::algorithms
