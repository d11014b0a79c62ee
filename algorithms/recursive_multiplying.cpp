// Recursive multiplying with radix k: ranks whose numbers differ in one digit to base k exchange
// all their data, and each folds the operands in the order of ranks. log_k(n) rounds of k-1 vectors
// out and in; if n is not a power of k, two more rounds, in which surplus ranks send to a neighbour
// and receive from it. Keeps operand order. k = 2 is recursive doubling. MPICH has it as "recexch".
// Wins for tiny vectors if a round costs more than a message: 16 ranks and more on few cores, or a
// network card with k ports.
#include "butterflies.hpp"

namespace tutti::v0::algorithms {

static Schedule exchange_digits(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (int power = 1; power < shape.size; power *= shape.number) {
    const int digit = self / power % shape.number;
    for (int other = 0; other < shape.number; ++other) {
      const Rank peer = self + (other - digit) * power;
      if (peer == self) continue;
      schedule.add(Send{peer, {}}).add(RecvReduce{peer, {}, side_of(peer, self)});
    }
    schedule.end_round();
  }
  return schedule.finish({});
}

Schedule recursive_multiplying_all_reduce(const Shape& shape, Rank self) {
  Shape served = shape;
  // More than n digits would leave one rank to fold all others' vectors.
  served.number = std::max(2, std::min(shape.number, shape.size));
  return fold_to_power({served.size, served.number}, exchange_digits, served, self);
}

}  // namespace tutti::v0::algorithms
