// k-nomial trees: broadcast and reduce, ceil(log_k n) rounds of the whole vector, any n and root;
// binomial is k = 2. A rank's subtree is the run of ranks that follow it, so the reduce keeps
// operand order if the root is rank 0. Larger k: fewer rounds, more messages at once per rank.
// MPICH and UCC have them as "knomial". Win for small vectors.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule knomial_broadcast(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  const int v = rooted.virtual_rank(self);
  const int k = shape.number;
  Schedule schedule{1};
  // The least power of k at which v has a non-zero digit; the root has none below n.
  int span = 1;
  while (span < shape.size && v % (k * span) == 0) span *= k;
  if (v > 0) schedule.round({Recv{rooted.rank(v / (k * span) * (k * span)), {}}});
  for (int below = span / k; below > 0; below /= k) {
    for (int j = 1; j < k && v + j * below < shape.size; ++j)
      schedule.add(Send{rooted.rank(v + j * below), {}});
    schedule.end_round();
  }
  return schedule;
}

Schedule knomial_reduce(const Shape& shape, Rank self) {
  Schedule schedule = reverse(knomial_broadcast(shape, self), Reversal::reduce);
  return self == shape.root ? schedule.finish({}) : schedule;
}

Schedule binomial_broadcast(const Shape& shape, Rank self) {
  return knomial_broadcast({.size = shape.size, .root = shape.root, .number = 2}, self);
}

Schedule binomial_reduce(const Shape& shape, Rank self) {
  return knomial_reduce({.size = shape.size, .root = shape.root, .number = 2}, self);
}

// Reduce to rank 0, then broadcast: 2 ceil(log2 n) rounds of the whole vector. Keeps operand order
// and gives all elements one expression tree. The baseline every other all-reduce must beat.
Schedule reduce_broadcast_all_reduce(const Shape& shape, Rank self) {
  return then(binomial_reduce(shape, self), binomial_broadcast(shape, self));
}

}  // namespace tutti::v0::algorithms
