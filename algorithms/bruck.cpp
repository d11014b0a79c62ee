// Bruck's all-gather with radix k: what a rank holds grows k-fold per round, from the k-1 ranks at
// distances d, 2d, .., (k-1)d. ceil(log_k n) rounds, (n-1)/n of the vector, any n. Units are
// addressed by rank, so the final rotation of the original is not needed. Bruck, Ho, Kipnis, Upfal
// and Weathersby, IEEE TPDS 8(11), 1997. Wins for small blocks.
#include "patterns.hpp"

namespace tutti::algorithms {

Schedule bruck_all_gather(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  for (int d = 1; d < shape.size; d *= shape.number) {
    for (int j = 1; j < shape.number && j * d < shape.size; ++j) {
      const int count = std::min(d, shape.size - j * d);
      cycle.runs(0, count, [&](Slots s) { schedule.add(Send{cycle.at(-j * d), s}); });
      cycle.runs(j * d, j * d + count, [&](Slots s) { schedule.add(Recv{cycle.at(j * d), s}); });
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace tutti::algorithms
