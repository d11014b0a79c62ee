// Recursive halving reduce-scatter: ranks at distance n/2, n/4, ... exchange the half of the vector
// that the other rank's side needs. log2(n) rounds, (n-1)/n of the vector; if n is not a power of
// two, surplus ranks send their vector to a neighbour first and get their block last. Commutative
// operators. Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005. Wins for small and middle sizes.
#include "butterflies.hpp"

namespace tutti::v0::algorithms {

Schedule recursive_halving_reduce_scatter(const Shape& shape, Rank self) {
  const Power power{shape.size, 2};
  const auto n = unsigned_of(shape.size);
  Schedule schedule{n};
  const int v = power.virtual_rank(self);
  if (power.rank(v) != self)
    return schedule.round({Send{self + 1, {Space::out, 0, n}}})
        .round({Recv{self + 1, {Space::out, unsigned_of(self)}}});
  const bool carries = power.first_of(v) != self;
  if (carries) schedule.round({RecvReduce{self - 1, {Space::out, 0, n}, Side::left}});

  // Blocks of the virtual ranks [begin, end). They are one run because virtual ranks keep the
  // order.
  const auto blocks = [&](int begin, int end) {
    return Slots{Space::out, unsigned_of(power.first_of(begin)),
                 unsigned_of(power.first_of(end) - power.first_of(begin))};
  };
  for (int half = power.core / 2; half > 0; half /= 2) {
    const int begin = v & ~(2 * half - 1);
    const Slots lower = blocks(begin, begin + half);
    const Slots upper = blocks(begin + half, begin + 2 * half);
    const Rank peer = power.rank(v ^ half);
    const bool keeps_lower = (v & half) == 0;
    schedule.round({Send{peer, keeps_lower ? upper : lower},
                    RecvReduce{peer, keeps_lower ? lower : upper, side_of(peer, self)}});
  }
  schedule.finish(blocks(v, v + 1));
  if (carries) schedule.round({Send{self - 1, {Space::out, unsigned_of(self - 1)}}});
  return schedule;
}

}  // namespace tutti::v0::algorithms
