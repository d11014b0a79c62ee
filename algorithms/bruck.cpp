// Bruck's algorithms with radix k, any n: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11),
// 1997. All-gather: what a rank holds grows k-fold per round, from the k-1 ranks at distances d,
// 2d,
// .., (k-1)d; ceil(log_k n) rounds, (n-1)/n of the vector. All-to-all: a block goes as far as one
// digit of its distance (to base k) per round, so it is sent once per digit that is not zero: as
// many rounds, and for k = 2 half of all blocks in each. Units are addressed by rank, so the
// rotations of the originals are not needed. Both win for small blocks.
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

Schedule bruck_all_to_all(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  const auto n = unsigned_of(shape.size);
  const auto block = [&](int source, int distance) {
    return unsigned_of(cycle.at(source)) * n + unsigned_of(cycle.at(source + distance));
  };
  Schedule schedule{n * n};
  for (int d = 1; d < shape.size; d *= shape.number) {
    for (int j = 1; j < shape.number && j * d < shape.size; ++j) {
      // Of the blocks for the rank `distance` after their source, those with digit j; they have
      // come as far as the lower digits say.
      for (int first = j * d; first < shape.size; first += shape.number * d)
        for (int come = 0; come < d && first + come < shape.size; ++come) {
          const Space from = come == 0 ? Space::in : Space::out;
          const int distance = first + come;
          schedule.add(Send{cycle.at(j * d), {from, block(-come, distance)}});
          schedule.add(Recv{cycle.at(-j * d), {Space::out, block(-come - j * d, distance)}});
        }
    }
    schedule.end_round();
  }
  return schedule;
}

}  // namespace tutti::algorithms
