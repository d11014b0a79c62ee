// Recursive doubling, the butterfly of least latency: in round k ranks at distance 2^k exchange all
// their data. All-reduce: log2(n) rounds of the whole vector, two more if n is not a power of two;
// keeps operand order. All-gather: log2(n) rounds, (n-1)/n of the vector, powers of two only.
// Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005. Wins for small vectors.
#include "butterflies.hpp"

namespace tutti::v0::algorithms {

static Schedule exchange_whole(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (int mask = 1; mask < shape.size; mask *= 2) {
    const Rank peer = self ^ mask;
    schedule.round({Send{peer, {}}, RecvReduce{peer, {}, side_of(peer, self)}});
  }
  return schedule.finish({});
}

Schedule recursive_doubling_all_reduce(const Shape& shape, Rank self) {
  return fold_to_power({shape.size, 2}, exchange_whole, shape, self);
}

Schedule recursive_doubling_all_gather(const Shape& shape, Rank self) {
  require(Sizes::power_of_two, shape.size);
  Schedule schedule{unsigned_of(shape.size)};
  for (int mask = 1; mask < shape.size; mask *= 2) {
    const Rank peer = self ^ mask;
    // Ranks that agree in all higher bits hold one aligned window.
    const auto window = [mask](Rank rank) {
      return Slots{Space::out, unsigned_of(rank & ~(mask - 1)), unsigned_of(mask)};
    };
    schedule.round({Send{peer, window(self)}, Recv{peer, window(peer)}});
  }
  return schedule;
}

}  // namespace tutti::v0::algorithms
