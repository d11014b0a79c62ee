// Parameter server: every rank sends a piece of its vector to each of s servers, the first s ranks,
// which fold it in the order of ranks and send the sum back to all ranks. Two rounds; a server's
// link carries (n-1)/s vectors each way, so one server is the bottleneck that every other
// all-reduce was made to avoid, and s = n is the direct exchange. Any n, any operator. Li et al.,
// OSDI 2014. Kept as the baseline that others are compared with.
#include "patterns.hpp"

namespace tutti::v0::algorithms {

Schedule parameter_server_all_reduce(const Shape& shape, Rank self) {
  const int servers = std::min(shape.number, shape.size);
  const auto piece = [](Rank server) { return Slots{Space::out, unsigned_of(server)}; };
  Schedule schedule{unsigned_of(servers)};
  const bool serves = self < servers;
  const int peers = serves ? shape.size : servers;  // the first ranks
  for (Rank peer = 0; peer < peers; ++peer) {
    if (peer == self) continue;
    if (peer < servers) schedule.add(Send{peer, piece(peer)});
    if (serves) schedule.add(RecvReduce{peer, piece(self), side_of(peer, self)});
  }
  schedule.end_round();
  if (serves) schedule.finish(piece(self));
  for (Rank peer = 0; peer < peers; ++peer) {
    if (peer == self) continue;
    if (serves) schedule.add(Send{peer, piece(self)});
    if (peer < servers) schedule.add(Recv{peer, piece(peer)});
  }
  return schedule.end_round();
}

}  // namespace tutti::v0::algorithms
