// Dual-root trees: the lower and the upper half of the ranks each reduce up an in-order binary
// tree, the two roots swap their sums, and the result goes down both trees. About 3 log2(n)
// messages of the whole vector one after the other; an inner rank sends it three times and receives
// it three times. Run in segments, with sums of later ones going up while results of earlier ones
// come down, it is the doubly pipelined algorithm of Traeff (arXiv:2109.12626, 2021): the executor
// pipelines the segments, and the schedule is that of one segment. Any n, any operator, one
// expression tree for all elements. On one switch direct and rabenseifner, which keep order too,
// move less. It is kept for networks where a rank should send to few others, and as the example of
// a pipeline without code for one.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule dual_root_all_reduce(const Shape& shape, Rank self) {
  const int half = (shape.size + 1) / 2;
  const bool is_lower = self < half;
  const InOrderNode node =
      is_lower ? in_order_node(0, half, self) : in_order_node(half, shape.size, self);
  Schedule schedule{1};
  for (const Rank child : node.children)
    if (child >= 0) schedule.add(RecvReduce{child, {}, Side::left});
  schedule.end_round();
  if (node.parent >= 0) {
    schedule.round({Send{node.parent, {}}}).round({Recv{node.parent, {}}});
  } else {
    const Rank other_root = is_lower ? shape.size - 1 : half - 1;
    if (other_root != self)
      schedule.round({Send{other_root, {}}, RecvReduce{other_root, {}, side_of(other_root, self)}});
    schedule.finish({});
  }
  for (const Rank child : node.children)
    if (child >= 0) schedule.add(Send{child, {}});
  return schedule.end_round();
}

}  // namespace tutti::v0::algorithms
