// Bine ("binomial negabinary") trees and butterflies: binomial ones whose distances alternate in
// direction, so that peers are nearer than with recursive doubling. Powers of two only; log2(n)
// rounds per phase; commutative operators. Broadcast and reduce: the whole vector down a tree, far
// ranks first. All-reduce: Swing's peers with contiguous windows, since the peers of a rank
// determine its piece; 2(n-1)/n of the vector. All-gather: windows of neighbours double, (n-1)/n of
// the vector, at most two pieces per message; backwards it is the reduce-scatter. De Sensi et al.,
// SC 2025. On one switch their times are those of binomial, rabenseifner and recursive doubling;
// they win if ranks fill groups of a network whose sizes are not powers of two.
#include <vector>

#include "butterflies.hpp"
#include "negabinary.hpp"

namespace tutti::v0::algorithms {

Schedule bine_broadcast(const Shape& shape, Rank self) {
  require(Sizes::power_of_two, shape.size);
  const Rooted rooted{shape.size, shape.root};
  const int v = rooted.virtual_rank(self);
  const std::uint32_t place = negabinary_of(v);
  const std::uint32_t mask = unsigned_of(shape.size) - 1;
  bool has_vector = v == 0;
  Schedule schedule{1};
  for (int step = ceil_log2(shape.size) - 1; step >= 0; --step) {
    const std::uint32_t low = (std::uint32_t{2} << step) - 1;
    const std::uint32_t digits = place & low;
    const Rank peer = rooted.rank(static_cast<int>(number_of(place ^ low) & mask));
    if (has_vector) schedule.round({Send{peer, {}}});
    else if (digits == 0 || digits == low) schedule.round({Recv{peer, {}}}), has_vector = true;
  }
  return schedule;
}

Schedule bine_reduce(const Shape& shape, Rank self) {
  Schedule schedule = reverse(bine_broadcast(shape, self), Reversal::reduce);
  return self == shape.root ? schedule.finish({}) : schedule;
}

Schedule bine_all_reduce(const Shape& shape, Rank self) {
  require(Sizes::power_of_two, shape.size);
  const Cycle cycle{shape.size, self};
  const std::uint32_t mask = unsigned_of(shape.size) - 1;
  const std::uint32_t place = changes_in(negabinary_of(self % 2 == 0 ? -self : self) & mask);
  std::vector<Halving> halvings;
  for (int step = 0; step < ceil_log2(shape.size); ++step)
    halvings.push_back({swing_peer(cycle, step), (place >> step & 1) == 0});
  return halve_and_double(halvings, shape, self);
}

Schedule bine_all_gather(const Shape& shape, Rank self) {
  require(Sizes::power_of_two, shape.size);
  const Cycle cycle{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  int begin = 0;  // The window this rank has, by distance.
  for (int step = 0; step < ceil_log2(shape.size); ++step) {
    const Rank peer = swing_peer(cycle, step);
    const int length = 1 << step;
    const bool theirs_is_after = step % 2 == self % 2;
    const int theirs = theirs_is_after ? begin + length : begin - length;
    cycle.runs(begin, begin + length, [&](Slots s) { schedule.add(Send{peer, s}); });
    cycle.runs(theirs, theirs + length, [&](Slots s) { schedule.add(Recv{peer, s}); });
    schedule.end_round();
    begin = std::min(begin, theirs);
  }
  return schedule;
}

Schedule bine_reduce_scatter(const Shape& shape, Rank self) {
  return reduce_scatter_from(bine_all_gather(shape, self), self);
}

}  // namespace tutti::v0::algorithms
