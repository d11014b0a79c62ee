// Neighbour exchange all-gather: ranks swap with the left and the right neighbour in turn, two
// blocks at a time. n/2 rounds, (n-1)/n of the vector, even n only. Chen, Zhang, Sun and Yuan,
// ICPADS 2005. Wins over the ring if latency still matters and only neighbours are near.
#include <array>

#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule neighbor_exchange_all_gather(const Shape& shape, Rank self) {
  require(Sizes::even, shape.size);
  const Cycle cycle{shape.size, self};
  Schedule schedule{unsigned_of(shape.size)};
  if (shape.size == 1) return schedule;
  const bool even = self % 2 == 0;
  const std::array<Rank, 2> neighbors = {cycle.at(even ? 1 : -1), cycle.at(even ? -1 : 1)};
  schedule.round({Send{neighbors[0], cycle.unit(0)},
                  Recv{neighbors[0], {Space::out, unsigned_of(neighbors[0])}}});
  // Pairs of blocks start at even units; each neighbour's next pair is two units further out.
  const auto pair = [](int first) { return Slots{Space::out, unsigned_of(first), 2}; };
  const int base = even ? self : self - 1;
  std::array<int, 2> next = {base, base};
  const std::array<int, 2> stride = {even ? 2 : -2, even ? -2 : 2};
  int last = base;
  for (int i = 1; i < shape.size / 2; ++i) {
    const auto side = static_cast<std::size_t>(i % 2);
    next[side] = (next[side] + stride[side] + shape.size) % shape.size;
    schedule.round({Send{neighbors[side], pair(last)}, Recv{neighbors[side], pair(next[side])}});
    last = next[side];
  }
  return schedule;
}

}  // namespace tutti::v0::algorithms
