// Messages that are there as a whole with their slot, on the receiver's side: the shortest way
// through.
#include <algorithm>

#include <tutti/spi/copy.hpp>

#include "transport.hpp"

namespace tutti::shm {

// Short ones are in the slot itself, others in the ring of bytes.
bool ShmTransport::find_whole(Peer& peer, const Slot& slot, Whole& whole) {
  if (slot.kind == Kind::small) {
    whole.payload = {slot.body, std::min<std::size_t>(slot.length, kInlineBytes)};
    return true;
  }
  if (slot.kind != Kind::buffered) return false;
  const auto buffered = body_of<Buffered>(slot);
  whole.extent = buffered.extent;
  if (whole.extent.bytes != buffered.bytes) return false;
  whole.payload = {peer.in.at(whole.extent), whole.extent.bytes};
  return true;
}

// A message that came before its receive, and before anything else from there, needs no record.
bool ShmTransport::take_at_once(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (!peer.in.attached() || !peer.in.has_slot()) return false;
  const Slot& slot = peer.in.slot();
  Whole whole{};
  if (slot.tag != transfer.tag || peer.partial != kNone || !find_whole(peer, slot, whole))
    return false;
  check(peer, transfer, bytes, slot.fingerprint, whole.payload.size());
  give_whole(peer, transfer, whole);
  peer.in.consume();
  peer.silent = 0;
  complete(transfer.cookie);
  return true;
}

void ShmTransport::give_whole(Peer& peer, const Transfer& transfer, const Whole& whole) {
  const std::size_t bytes = whole.payload.size();
  const std::byte* const data = whole.payload.data();
  if (transfer.combiner != nullptr && bytes > 0) transfer.combiner->combine({data, bytes});
  else if (transfer.pieces.size() == 1) copy_bytes(transfer.pieces[0].data, data, bytes);
  else Cursor{transfer.pieces}.write(data, bytes);
  peer.in.count_match(bytes);
  if (whole.extent.bytes > 0) peer.in.consume(whole.extent);
}

bool ShmTransport::take_whole(Peer& peer, const Slot& slot) {
  Whole whole{};
  if (!find_whole(peer, slot, whole)) return false;
  const auto receive = std::ranges::find_if(
      peer.receives, [&](std::uint32_t id) { return records_[id].transfer.tag == slot.tag; });
  if (peer.partial != kNone || receive == peer.receives.end()) return false;
  const std::uint32_t id = *receive;
  peer.receives.erase(receive);
  const Record& record = records_[id];
  check(peer, record.transfer, record.bytes, slot.fingerprint, whole.payload.size());
  give_whole(peer, record.transfer, whole);
  --peer.awaited;
  finish(id);
  return true;
}

}  // namespace tutti::shm
