// Sparbit all-gather: distances halve, far ranks first, and the blocks of a rank double, without
// the rotation of Bruck's, for any n. ceil(log2 n) rounds, (n-1)/n of the vector; the early, far
// messages are small and the late, near ones large. Loch and Koslovski, arXiv:2109.08751, 2021. On
// one switch its time is that of bruck; it wins if neighbours share a host.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule sparbit_all_gather(const Shape& shape, Rank self) {
  const Cycle cycle{shape.size, self};
  const std::uint32_t n = unsigned_of(shape.size);
  // A rank sends one block less at the distances whose bit is set here, since the receiver has the
  // last one already. Bits below the lowest set bit of n are never set.
  const int low = std::countr_zero(n);
  const std::uint32_t shorter = (~(n >> low) | 1) << low;
  Schedule schedule{n};
  int held = 1;
  for (std::uint32_t bit = std::bit_ceil(n) / 2; bit > 0; bit /= 2) {
    const int distance = static_cast<int>(bit);
    const int left_out = (bit & shorter) != 0 ? 1 : 0;
    for (int i = 0; i < held - left_out; ++i) {
      schedule.add(Send{cycle.at(distance), cycle.unit(-2 * i * distance)});
      schedule.add(Recv{cycle.at(-distance), cycle.unit(-(2 * i + 1) * distance)});
    }
    schedule.end_round();
    held = 2 * held - left_out;
  }
  return schedule;
}

}  // namespace tutti::v0::algorithms
