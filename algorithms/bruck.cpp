// Bruck's algorithms with radix k, any n: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11),
// 1997. All-gather: the blocks of a rank grow k-fold per round, from the k-1 ranks at distances d,
// 2d, .., (k-1)d; ceil(log_k n) rounds, (n-1)/n of the vector. All-to-all: in each round a block
// travels one digit of its distance (to base k), so it is sent once per digit that is not zero:
// equally many rounds, and for k = 2 half of all blocks in each. Units are addressed by rank, so
// the rotations of the originals are not needed. Both win for small blocks.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

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

Schedule bruck_all_to_all(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  const auto n = unsigned_of(shape.size);
  const auto block = [n](Rank from, Rank to) { return unsigned_of(from) * n + unsigned_of(to); };
  Schedule schedule{n * n};
  std::size_t sent = 0;  // distances with a nonzero digit at d, summed over all d
  for (std::uint32_t d = 1, k = unsigned_of(shape.number); d < n; d *= k)
    sent += n - n / (k * d) * d - std::min(n % (k * d), d);
  schedule.reserve(2 * sent);
  for (int d = 1; d < shape.size; d *= shape.number) {
    for (int j = 1; j < shape.number && j * d < shape.size; ++j) {
      const Rank next = cycle.at(j * d);
      const Rank previous = cycle.at(-j * d);
      // A block has travelled less than d and has a multiple of d to go. It moves if the digit of
      // that at d is j.
      for (int rest = j * d; rest < shape.size; rest += shape.number * d) {
        const Rank sent_to = cycle.at(rest);
        const Rank heard_for = cycle.at(rest - j * d);
        for (int come = 0; come < d && rest + come < shape.size; ++come) {
          const Space from = come == 0 ? Space::in : Space::out;
          schedule.add(Send{next, {from, block(cycle.at(-come), sent_to)}});
          schedule.add(Recv{previous, {Space::out, block(cycle.at(-come - j * d), heard_for)}});
        }
      }
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace tutti::v0::algorithms
