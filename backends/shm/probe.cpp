// Messages that are looked for before their receive is posted.
#include "transport.hpp"

namespace tutti::shm {

// Everything on the queue is taken off it, since what is looked for may lie behind other
// messages.
std::optional<Unexpected> ShmTransport::probe_peer(Rank from, std::uint32_t tag) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  if (peer.member == nullptr) return std::nullopt;
  if (!peer.in.attached()) attach(peer);
  if (peer.in.attached() && peer.in.has_slot()) {
    ++peer.awaited;
    read_slots(peer);
    --peer.awaited;
  }
  for (const Arrival& arrival : peer.arrivals)
    if (arrival.message.tag == tag)
      return Unexpected{from, arrival.message.bytes, arrival.message.fingerprint};
  return std::nullopt;
}

std::optional<Unexpected> ShmTransport::probe(Rank from, std::uint32_t tag) {
  if (failure_) throw Error{*failure_};
  failure_signal_->check();
  try {
    if (from != any_rank) return probe_peer(from, tag);
    for (Rank i = 0; i < size(); ++i) {
      const Rank rank = (next_probed_ + i) % size();
      const auto found = probe_peer(rank, tag);
      if (!found) continue;
      next_probed_ = rank + 1;
      return found;
    }
    return std::nullopt;
  } catch (const Error& error) {
    failure_ = error;
    throw;
  }
}

}  // namespace tutti::shm
