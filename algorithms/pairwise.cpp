// Pairwise exchange: in round k every rank sends to the rank k after it and receives from the rank
// k before it. n-1 rounds. Reduce-scatter sends (n-1)/n of the vector; lower ranks' operands are
// taken from the left, higher ones' are gathered in scratch, so that operand order is kept. Open
// MPI and MPICH have it as "pairwise". Wins for large blocks if a burst to all would congest the
// network. The pairwise all-to-all is the linear one with one transfer in flight.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule pairwise_reduce_scatter(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  const Slots own = cycle.unit(0);
  const Slots higher{Space::scratch, own.first};
  Schedule schedule{unsigned_of(shape.size), 1, true};
  for (int k = 1; k < shape.size; ++k) {
    const Rank source = cycle.at(-k);
    schedule.add(Send{cycle.at(k), cycle.unit(k)});
    if (source < self) schedule.add(RecvReduce{source, own, Side::left});
    else if (source == shape.size - 1) schedule.add(Recv{source, higher});
    else schedule.add(RecvReduce{source, higher, Side::left});
    schedule.end_round();
  }
  if (self < shape.size - 1) schedule.round({Reduce{higher, own, Side::right}});
  return schedule.finish(own);
}

}  // namespace tutti::v0::algorithms
