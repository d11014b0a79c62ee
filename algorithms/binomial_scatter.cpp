// In-order binomial scatter, and its reversal, the gather: a rank gets the blocks of its subtree in
// one message and passes on halves, largest first. ceil(log2 n) rounds; the root sends (n-1)/n of
// the vector. Any n and root. Wins for small blocks. Followed by an all-gather it is van de Geijn's
// broadcast (Barnett et al., SHPCC 1994), 2 log n rounds and about twice the vector: wins for large
// vectors. A reduce-scatter followed by its reversal, a gather, is the matching reduce.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule binomial_scatter(const Shape& shape, Rank self) {
  const Rooted rooted{shape.size, shape.root};
  const Cycle blocks{shape.size,
                     shape.root};  // The block of virtual rank v is v blocks after the root's.
  const int v = rooted.virtual_rank(self);
  const int span = v > 0 ? v & -v : static_cast<int>(std::bit_ceil(unsigned_of(shape.size)));
  Schedule schedule{unsigned_of(shape.size)};
  if (v > 0) {
    blocks.runs(v, std::min(v + span, shape.size), [&](Slots s) {
      schedule.add(Recv{rooted.rank(v - span), s});
    });
    schedule.end_round();
  }
  for (int half = span / 2; half > 0; half /= 2) {
    const int child = v + half;
    blocks.runs(child, std::min(child + half, shape.size), [&](Slots s) {
      schedule.add(Send{rooted.rank(child), s});
    });
    schedule.end_round();
  }
  return schedule;
}

Schedule binomial_gather(const Shape& shape, Rank self) {
  return reverse(binomial_scatter(shape, self), Reversal::move);
}

Schedule scatter_all_gather_broadcast(const Shape& shape, Rank self) {
  return then(binomial_scatter(shape, self), circulant_all_gather(shape, self));
}

Schedule reduce_scatter_gather_reduce(const Shape& shape, Rank self) {
  return then(circulant_reduce_scatter(shape, self), binomial_gather(shape, self));
}

}  // namespace tutti::v0::algorithms
