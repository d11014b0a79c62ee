// Linear: every block goes straight to its rank, k blocks at a time. All-to-all: in each round a
// rank sends to the next k ranks and receives from the k ranks before. Scatter and gather: the root
// sends to k ranks, or receives from them. ceil((n-1)/k) rounds, (n-1)/n of the vector; a rank
// needs only the counts that it sends or gets. Any n and root. k = 1 is pairwise exchange, k = n-1
// the direct one. Open MPI has it as "linear_sync", MPICH as "scattered". On one switch all take
// the same time apart from rounds; it wins if one transfer does not fill the network and all at
// once congest it, for example if hundreds of ranks send to one root.
#include "patterns.hpp"

namespace tutti::v0::algorithms {
namespace {

Schedule exchange(const Shape& shape, Rank self, int in_flight) {
  const auto n = unsigned_of(shape.size);
  const Cycle cycle{shape.size, self};
  Schedule schedule{n * n, 0, in_flight < shape.size - 1};
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

/// Scatters the blocks of all ranks but the root. It reads them as results, so that another
/// schedule may have written them.
Schedule scatter_by(const Shape& shape, Rank self, int in_flight) {
  Schedule schedule{unsigned_of(shape.size), 0, in_flight < shape.size - 1};
  const Cycle cycle{shape.size, self};
  if (self != shape.root) return schedule.round({Recv{shape.root, cycle.unit(0)}});
  for (int k = 1; k < shape.size; ++k) {
    schedule.add(Send{cycle.at(k), cycle.unit(k)});
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

Schedule linear_scatter(const Shape& shape, Rank self) {
  return scatter_by(shape, self, shape.number);
}

Schedule direct_scatter(const Shape& shape, Rank self) {
  return scatter_by(shape, self, shape.size);
}

Schedule linear_gather(const Shape& shape, Rank self) {
  return reverse(linear_scatter(shape, self), Reversal::move);
}

Schedule direct_gather(const Shape& shape, Rank self) {
  return reverse(direct_scatter(shape, self), Reversal::move);
}

}  // namespace tutti::v0::algorithms
