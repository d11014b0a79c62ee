// Messages that travel in their slot, on the receiver's side: the shortest way through.
#include <algorithm>
#include <array>
#include <cstring>

#include "transport.hpp"

namespace tutti::shm {

ShmTransport::Message ShmTransport::message_of_small(const Slot& slot) noexcept {
  return {.tag = slot.tag,
          .fingerprint = slot.fingerprint,
          .bytes = std::min<std::size_t>(slot.length, kInlineBytes)};
}

// A short message that came before its receive, and before anything else from there, needs no
// record.
bool ShmTransport::take_at_once(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (!peer.in.attached() || !peer.in.has_slot()) return false;
  const Slot& slot = peer.in.slot();
  if (slot.kind != Kind::small || slot.tag != transfer.tag || peer.partial != kNone) return false;
  check(peer, transfer, bytes, message_of_small(slot));
  give_small(peer, transfer, bytes, slot);
  peer.in.consume();
  peer.silent = 0;
  tell_done(transfer);
  return true;
}

// Copied first, since a sink wants its elements where such elements may lie.
void ShmTransport::give_small(Peer& peer, const Transfer& transfer, std::uint64_t bytes,
                              const Slot& slot) {
  alignas(64) std::array<std::byte, kInlineBytes> copy;
  std::memcpy(copy.data(), slot.body, kInlineBytes);
  if (transfer.sink != nullptr && bytes > 0) transfer.sink->take(0, {copy.data(), bytes});
  else if (transfer.pieces.size() == 1) std::memcpy(transfer.pieces[0].data, copy.data(), bytes);
  else Cursor{transfer.pieces}.write(copy.data(), bytes);
  peer.in.count_match(bytes);
}

void ShmTransport::take_small(Peer& peer, const Slot& slot) {
  if (peer.partial != kNone) throw nonsense();  // the rest of it comes first
  const Message message = message_of_small(slot);
  const std::uint32_t id = find_receive(peer, slot.tag);
  if (id == kNone) return keep(peer, message, {slot.body, message.bytes});
  const Record& record = records_[id];
  check(peer, record, message);
  give_small(peer, record.transfer, record.bytes, slot);
  --peer.awaited;
  finish(id);
}

}  // namespace tutti::shm
