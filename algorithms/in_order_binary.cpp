// In-order binary tree: a reduce that keeps operand order for every root. The tree over ranks
// [begin, end) is rooted at end-1; the lower half of the others is one subtree, the upper half the
// other. The root of all, n-1, passes the result to the user's root. About 1 + log2(n) rounds of
// the whole vector. Open MPI has it as "in-order binary". For operators that do not commute.
#include "patterns.hpp"

namespace tutti::algorithms {

Schedule in_order_binary_reduce(const Shape& shape, Rank self) {
  Schedule schedule{1};
  int begin = 0;
  int end = shape.size;
  Rank parent = -1;
  while (self != end - 1) {  // Descend to the subtree whose root is this rank.
    const int middle = begin + (end - begin) / 2;
    parent = end - 1;
    if (self < middle) end = middle;
    else begin = middle, --end;
  }
  const int middle = begin + (end - begin) / 2;
  if (middle > begin) schedule.add(RecvReduce{middle - 1, {}, Side::left});
  if (end - 1 > middle) schedule.add(RecvReduce{end - 2, {}, Side::left});
  schedule.end_round();
  if (parent >= 0) {
    schedule.round({Send{parent, {}}});
    if (self == shape.root) schedule.round({Recv{shape.size - 1, {}}});
    return schedule;
  }
  schedule.finish({});
  if (self != shape.root) schedule.round({Send{shape.root, {}}});
  return schedule;
}

}  // namespace tutti::algorithms
