// Prefix reductions. Hillis-Steele: in round k a rank gets the sum of the 2^k ranks before those
// that it has; ceil(log2 n) rounds of the whole vector, one more if the own operand is left out.
// Wins for small vectors. W. D. Hillis, G. L. Steele, CACM 29(12), 1986. Chain: every rank waits
// for the one before it; n-1 vectors one after the other, but every rank sends only one, so that in
// segments it wins for large vectors. Both keep operands in order.
#include "patterns.hpp"

namespace tutti::v0::algorithms {
namespace {

constexpr Slots kOut{Space::out, 0};
constexpr Slots kIn{Space::in, 0};
constexpr Slots kOwn{Space::scratch, 0};

/// Rounds over the ranks from `first` on, which hold their operand in `out`.
Schedule& double_from(Rank first, int size, Rank self, Schedule& schedule) {
  for (int distance = 1; distance < size - first; distance *= 2) {
    if (self < first) break;
    if (self + distance < size) schedule.add(Send{self + distance, kOut});
    if (self - distance >= first) schedule.add(RecvReduce{self - distance, kOut, Side::left});
    schedule.end_round();
  }
  return schedule;
}

}  // namespace

Schedule hillis_steele_scan(const Shape& shape, Rank self) {
  Schedule schedule{1};
  return double_from(0, shape.size, self, schedule).finish(kOut);
}

Schedule hillis_steele_exscan(const Shape& shape, Rank self) {
  Schedule schedule{1};
  if (self + 1 < shape.size) schedule.add(Send{self + 1, kIn});
  if (self > 0) schedule.add(Recv{self - 1, kOut});
  schedule.end_round();
  double_from(1, shape.size, self, schedule);
  return self > 0 ? schedule.finish(kOut) : schedule;
}

Schedule chain_scan(const Shape& shape, Rank self) {
  Schedule schedule{1};
  if (self > 0) schedule.round({RecvReduce{self - 1, kOut, Side::left}});
  if (self + 1 < shape.size) schedule.round({Send{self + 1, kOut}});
  return schedule.finish(kOut);
}

Schedule chain_exscan(const Shape& shape, Rank self) {
  Schedule schedule{1, 1};
  const bool is_last = self + 1 == shape.size;
  if (self == 0) return is_last ? schedule : schedule.round({Send{1, kIn}});
  // The own operand is copied first, since in place the result overwrites it.
  if (!is_last) schedule.round({Copy{kIn, kOwn}});
  schedule.round({Recv{self - 1, kOut}});
  if (!is_last) schedule.round({Reduce{kOut, kOwn, Side::left}}).round({Send{self + 1, kOwn}});
  return schedule.finish(kOut);
}

}  // namespace tutti::v0::algorithms
