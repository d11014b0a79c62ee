// In-order binary tree: a reduce that keeps operand order for every root. The tree over ranks
// [begin, end) is rooted at end-1; the lower half of the others is one subtree, the upper half the
// other. The root of all, n-1, passes the result to the user's root. About 1 + log2(n) rounds of
// the whole vector. Open MPI has it as "in-order binary". It is for operators that do not commute.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

InOrderNode in_order_node(int begin, int end, Rank self) noexcept {
  InOrderNode node;
  while (self != end - 1) {  // Descend to the subtree whose root is this rank.
    const int middle = begin + (end - begin) / 2;
    node.parent = end - 1;
    if (self < middle) end = middle;
    else begin = middle, --end;
  }
  const int middle = begin + (end - begin) / 2;
  if (middle > begin) node.children[0] = middle - 1;
  if (end - 1 > middle) node.children[1] = end - 2;
  return node;
}

Schedule in_order_binary_reduce(const Shape& shape, Rank self) {
  const InOrderNode node = in_order_node(0, shape.size, self);
  Schedule schedule{1};
  for (const Rank child : node.children)
    if (child >= 0) schedule.add(RecvReduce{child, {}, Side::left});
  schedule.end_round();
  if (node.parent >= 0) {
    schedule.round({Send{node.parent, {}}});
    if (self == shape.root) schedule.round({Recv{shape.size - 1, {}}});
    return schedule;
  }
  schedule.finish({});
  if (self != shape.root) schedule.round({Send{shape.root, {}}});
  return schedule;
}

}  // namespace tutti::v0::algorithms
