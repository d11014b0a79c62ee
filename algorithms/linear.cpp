// Linear all-to-all: every block goes straight to its rank, k of them at a time: in each round a
// rank sends to the next k ranks on and hears from the k before. ceil((n-1)/k) rounds, (n-1)/n of
// the vector, only the counts a rank itself sends or gets; any n. k = 1 is pairwise exchange, k =
// n-1 the direct one. Open MPI has it as "linear_sync", MPICH as "scattered". On one switch all
// three take the same time but for the rounds; it wins where one transfer does not fill the network
// and all at once congest it.
#include "patterns.hpp"

namespace tutti::algorithms {
namespace {

Schedule exchange(const Shape& shape, Rank self, int in_flight) {
  const auto n = unsigned_of(shape.size);
  const Cycle cycle{shape.size, self};
  Schedule schedule{n * n};
  // Starting with the neighbour spreads the load: not all ranks begin with rank 0.
  for (int k = 1; k < shape.size; ++k) {
    const Rank to = cycle.at(k);
    const Rank from = cycle.at(-k);
    schedule.add(Send{to, {Space::in, unsigned_of(self) * n + unsigned_of(to)}});
    schedule.add(Recv{from, {Space::out, unsigned_of(from) * n + unsigned_of(self)}});
    if (k % in_flight == 0) schedule.end_round();
  }
  return schedule.end_round();
}

}  // namespace

Schedule linear_all_to_all(const Shape& shape, Rank self) {
  return exchange(shape, self, shape.number);
}

Schedule pairwise_all_to_all(const Shape& shape, Rank self) {
  return exchange(shape, self, 1);
}

Schedule direct_all_to_all(const Shape& shape, Rank self) {
  return exchange(shape, self, shape.size);
}

}  // namespace tutti::algorithms
