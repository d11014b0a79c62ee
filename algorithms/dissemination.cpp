// Dissemination barrier with radix k: in each round a rank signals the k-1 ranks at distances d,
// 2d, .., (k-1)d and awaits as many. ceil(log_k n) rounds, any n. The token is one bit that is
// reduced, so that "has a message of every rank" is proved like any other result. Hensgen, Finkel
// and Manber, IJPP 17(1), 1988. The barrier of one level; larger k wins if a round costs more than
// a message.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule dissemination_barrier(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  Schedule schedule{1};
  for (int d = 1; d < shape.size; d *= shape.number) {
    for (int j = 1; j < shape.number && j * d < shape.size; ++j)
      schedule.add(Send{cycle.at(j * d), {}}).add(RecvReduce{cycle.at(-j * d), {}});
    schedule.end_round();
  }
  return schedule;
}

}  // namespace tutti::v0::algorithms
