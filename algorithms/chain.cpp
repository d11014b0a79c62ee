// Chain: every rank passes the vector on to the next one. n-1 rounds; with S segments n+S-2, each
// of 1/S of the vector, so every link carries the vector once. The reduce keeps operand order if
// the root is rank 0. Wins for huge vectors and few ranks.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule chain_broadcast(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  const int v = rooted.virtual_rank(self);
  Schedule schedule{1};
  if (v > 0) schedule.round({Recv{rooted.rank(v - 1), {}}});
  if (v + 1 < shape.size) schedule.round({Send{rooted.rank(v + 1), {}}});
  return schedule;
}

Schedule chain_reduce(const Shape& shape, Rank self) {
  Schedule schedule = reverse(chain_broadcast(shape, self), Reversal::reduce);
  return self == shape.root ? schedule.finish({}) : schedule;
}

}  // namespace tutti::v0::algorithms
