// Direct exchange: each rank sends to all others at once. Reduce-scatter: one round, (n-1)/n of the
// vector; block r is folded by rank r in the order of ranks, so any associative operator will do.
// All-gather: one round, (n-1)/n of the vector. All-reduce: a reduce-scatter, then an all-gather.
// One-shot: one round, n-1 vectors out and in, folded by every rank in the order of ranks; wins if
// a round costs more than the bytes. Reduce: one round, folded by the root in the order of ranks.
// All win on single switches and for few ranks; n-1 messages at once per rank otherwise. The direct
// scatter, gather and all-to-all are the linear ones with all messages in flight.
#include "patterns.hpp"

namespace tutti::v0::algorithms {
namespace {

Slots block(Rank rank) {
  return {Space::out, unsigned_of(rank)};
}

Schedule& reduce_and_scatter(Schedule& schedule, const Shape& shape, Rank self) {
  for (Rank peer = 0; peer < shape.size; ++peer) {
    if (peer == self) continue;
    schedule.add(Send{peer, block(peer)});
    schedule.add(RecvReduce{peer, block(self), side_of(peer, self)});
  }
  return schedule.end_round().finish(block(self));
}

Schedule& gather_everywhere(Schedule& schedule, const Shape& shape, Rank self) {
  for (Rank peer = 0; peer < shape.size; ++peer)
    if (peer != self) schedule.add(Send{peer, block(self)}).add(Recv{peer, block(peer)});
  return schedule.end_round();
}

}  // namespace

Schedule direct_reduce_scatter(const Shape& shape, Rank self) {
  Schedule schedule{unsigned_of(shape.size)};
  return reduce_and_scatter(schedule, shape, self);
}

Schedule direct_all_gather(const Shape& shape, Rank self) {
  Schedule schedule{unsigned_of(shape.size)};
  return gather_everywhere(schedule, shape, self);
}

Schedule direct_all_reduce(const Shape& shape, Rank self) {
  Schedule schedule{unsigned_of(shape.size)};
  return gather_everywhere(reduce_and_scatter(schedule, shape, self), shape, self);
}

Schedule one_shot_all_reduce(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (Rank peer = 0; peer < shape.size; ++peer) {
    if (peer == self) continue;
    schedule.add(Send{peer, {Space::out, 0}});
    schedule.add(RecvReduce{peer, {Space::out, 0}, side_of(peer, self)});
  }
  return schedule.end_round().finish({Space::out, 0});
}

Schedule direct_reduce(const Shape& shape, Rank self) {
  if (self != shape.root) return Schedule{1}.round({Send{shape.root, {}}});
  Schedule schedule{1};
  for (Rank peer = 0; peer < shape.size; ++peer)
    if (peer != self) schedule.add(RecvReduce{peer, {}, side_of(peer, self)});
  return schedule.end_round().finish({});
}

}  // namespace tutti::v0::algorithms
