// Swing: in step s a rank exchanges with the one at distance 1, -1, 3, -5, 11, .. (even ranks in
// this direction, odd ranks in the other), so that on a ring the load of a link grows half as fast
// as under recursive doubling. Each phase has ceil(log2 n) rounds and sends (n-1)/n of the vector,
// most of it to neighbours; even numbers of ranks, commutative operators. De Sensi et al., NSDI
// 2024: the version of least volume; the version of least latency gives ranks different bits, and
// is not faster than recursive doubling. On one switch its time is that of circulant; it wins on
// rings and tori.
#include <vector>

#include "negabinary.hpp"

namespace tutti::v0::algorithms {
namespace {

/// The step in which a block leaves an even rank for the rank `distance` further. If both
/// directions around the cycle are sums of steps, it is the one with the later step.
int step_towards(int distance, int size) {
  const std::uint32_t mask = (std::uint32_t{1} << ceil_log2(size)) - 1;
  const int most = static_cast<int>(~kNegativeDigits & mask);
  const int least = -static_cast<int>(kNegativeDigits & mask);
  const int sign = distance % 2 == 0 ? -1 : 1;
  int step = 0;
  for (const int way : {sign * distance, sign * (distance - size)})
    if (least <= way && way <= most)
      step = std::max(step, std::countr_zero(changes_in(negabinary_of(way))));
  return step;
}

/// For each step of the reduce-scatter: the distances of the ranks whose blocks an even rank sends.
std::vector<std::vector<int>> distances_by_step(int size) {
  std::vector<std::vector<int>> distances(static_cast<std::size_t>(ceil_log2(size)));
  for (int distance = 1; distance < size; ++distance)
    distances[static_cast<std::size_t>(step_towards(distance, size))].push_back(distance);
  return distances;
}

/// Calls visit(Slots) for the units at these distances, in an order that is equal at both ends.
template <class Visit>
void units_at(const Cycle& cycle, const std::vector<int>& distances, Visit visit) {
  std::vector<Slots> units;
  for (const int distance : distances)
    units.push_back(cycle.unit(cycle.self % 2 == 0 ? distance : -distance));
  runs_of(units, visit);
}

}  // namespace

Schedule swing_all_gather(const Shape& shape, Rank self) {
  require(Sizes::even, shape.size);
  const Cycle cycle{shape.size, self};
  const std::vector<std::vector<int>> distances = distances_by_step(shape.size);
  Schedule schedule{unsigned_of(shape.size)};
  for (std::size_t step = distances.size(); step-- > 0;) {
    const Rank peer = swing_peer(cycle, static_cast<int>(step));
    units_at({shape.size, peer}, distances[step], [&](Slots s) { schedule.add(Send{peer, s}); });
    units_at(cycle, distances[step], [&](Slots s) { schedule.add(Recv{peer, s}); });
    schedule.end_round();
  }
  return schedule;
}

Schedule swing_reduce_scatter(const Shape& shape, Rank self) {
  return reduce_scatter_from(swing_all_gather(shape, self), self);
}

Schedule swing_all_reduce(const Shape& shape, Rank self) {
  const Schedule all_gather = swing_all_gather(shape, self);
  return then(reduce_scatter_from(all_gather, self), all_gather);
}

}  // namespace tutti::v0::algorithms
