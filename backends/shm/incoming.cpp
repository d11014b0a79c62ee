#include "incoming.hpp"

#include <algorithm>

#include <tutti/spi/copy.hpp>

#include "payload_path.hpp"

namespace tutti::shm {
namespace {

void check(const Peer& peer, const detail::Envelope& sent, const detail::Envelope& expected) {
  if (!agree(sent, expected)) throw detail::mismatch(peer.rank, sent, expected);
}

}  // namespace

// Messages that arrive as a whole with their slot take the shortest path: they need no record if
// they came before their receive, and no other message of their sender is before them.
void Incoming::post(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (matcher_.is_empty(peer.rank, transfer.tag) && receive_at_once(peer, transfer, bytes)) return;
  Record& record = records_.add(transfer, bytes);
  ++peer.awaited;
  Arrival* const arrival = matcher_.match_receive(peer.rank, transfer.tag);
  if (arrival == nullptr) return matcher_.add_receive(peer.rank, &record);
  if (peer.partial_arrival == arrival) peer.partial_arrival = nullptr;
  accept(peer, record, arrival->message);
  if (arrival->message.is_request) grant(peer, record, arrival->message, arrival->ranges);
  else receive_bytes(peer, record, arrival->payload.view());
  arrivals_.release(arrival);
}

// The bytes of a short message are in the slot, those of others in the ring of bytes.
bool Incoming::find_whole(Peer& peer, const Slot& slot, Whole& whole) {
  if (slot.kind == SlotType::small) {
    whole.payload = {slot.body, std::min<std::size_t>(slot.length, kInlineBytes)};
    return true;
  }
  if (slot.kind != SlotType::buffered) return false;
  const auto buffered = body_of<Buffered>(slot);
  whole.extent = buffered.extent;
  if (whole.extent.bytes != buffered.bytes) return false;
  whole.payload = {peer.in.at(whole.extent), whole.extent.bytes};
  return true;
}

bool Incoming::receive_at_once(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (!peer.in.attached() || !peer.in.has_slot()) return false;
  const Slot& slot = peer.in.slot();
  Whole whole{};
  if (slot.tag != transfer.tag || peer.partial != nullptr || !find_whole(peer, slot, whole))
    return false;
  check(peer, {slot.tag, slot.fingerprint, whole.payload.size()},
        {transfer.tag, transfer.fingerprint, bytes, transfer.accepts_shorter});
  deliver_whole(peer, transfer, whole);
  peer.in.consume();
  peer.silent = 0;
  records_.complete(transfer.cookie);
  return true;
}

void Incoming::deliver_whole(Peer& peer, const Transfer& transfer, const Whole& whole) {
  const std::size_t bytes = whole.payload.size();
  const std::byte* const data = whole.payload.data();
  if (transfer.combiner != nullptr && bytes > 0) transfer.combiner->combine({data, bytes});
  else if (transfer.pieces.size() == 1) copy_bytes(transfer.pieces[0].data, data, bytes);
  else Cursor{transfer.pieces}.write(data, bytes);
  peer.in.count_match(bytes);
  if (whole.extent.bytes > 0) peer.in.consume(whole.extent);
}

bool Incoming::receive_whole(Peer& peer, const Slot& slot) {
  Whole whole{};
  if (peer.partial != nullptr || !find_whole(peer, slot, whole)) return false;
  Record* const record = matcher_.match_message(peer.rank, slot.tag);
  if (record == nullptr) return false;
  check(peer, {slot.tag, slot.fingerprint, whole.payload.size()}, record->envelope());
  deliver_whole(peer, record->transfer, whole);
  complete(peer, *record);
  return true;
}

void Incoming::read_slots(Peer& peer) {
  while (peer.awaited > 0 && peer.in.has_slot()) {
    const Slot& slot = peer.in.slot();
    switch (slot.kind) {
      case SlotType::small:
      case SlotType::buffered:
        if (!receive_whole(peer, slot)) receive_message(peer, slot);
        break;
      case SlotType::request: receive_message(peer, slot); break;
      case SlotType::more: receive_more(peer, slot); break;
      case SlotType::chunk: receive_chunk(peer, slot); break;
      case SlotType::grant:
      case SlotType::done: outgoing_.receive_reply(peer, slot); break;
      default: throw nonsense();
    }
    peer.in.consume();
    peer.silent = 0;
    if (!peer.granted.empty()) return;  // sending and receiving take turns
  }
}

void Incoming::receive_message(Peer& peer, const Slot& slot) {
  if (peer.partial != nullptr) throw nonsense();  // the rest of it comes first
  MessageHeader message{.tag = slot.tag,
                        .id = slot.id,
                        .fingerprint = slot.fingerprint,
                        .bytes = 0,
                        .is_request = slot.kind == SlotType::request,
                        .access = slot.access};
  std::span<const std::byte> payload;
  Extent extent{};
  if (message.is_request) {
    const auto request = body_of<Request>(slot);
    const bool in_place = message.access == AccessMode::in_place;
    if (in_place) message.in_place = body_of<InPlace>(slot);
    message.bytes = in_place ? message.in_place.message.bytes : request.bytes;
    if (message.access == AccessMode::staged) message.first = request.first;
    else if (!in_place) extent = request.ranges;
  } else if (slot.kind == SlotType::small) {
    payload = {slot.body, std::min<std::size_t>(slot.length, kInlineBytes)};
    message.bytes = payload.size();
  } else {
    const auto buffered = body_of<Buffered>(slot);
    extent = buffered.extent;
    message.bytes = buffered.bytes;
    if (extent.bytes > message.bytes) throw nonsense();
  }
  if (extent.bytes > 0) payload = {peer.in.at(extent), extent.bytes};
  if (message.is_request) read_ranges(payload);
  if (message.is_request && message.access == AccessMode::in_place)
    ranges_.assign(1, message.in_place.message);
  if (Record* const record = matcher_.match_message(peer.rank, message.tag)) {
    accept(peer, *record, message);
    if (message.is_request) grant(peer, *record, message, ranges_);
    else receive_bytes(peer, *record, payload);
  } else {
    store_arrival(peer, message, payload);
  }
  if (extent.bytes > 0) peer.in.consume(extent);
}

void Incoming::read_ranges(std::span<const std::byte> list) {
  ranges_.resize(list.size() / sizeof(Range));
  if (!ranges_.empty()) copy_bytes(ranges_.data(), list.data(), ranges_.size() * sizeof(Range));
}

void Incoming::store_arrival(Peer& peer, const MessageHeader& message,
                             std::span<const std::byte> payload) {
  Arrival& arrival = *arrivals_.acquire();
  arrival.message = message;
  if (message.is_request) arrival.ranges.assign(ranges_.begin(), ranges_.end());
  else arrival.payload.append(payload);
  matcher_.add_message(peer.rank, &arrival);
  const bool is_partial = !message.is_request && payload.size() < message.bytes;
  peer.partial_arrival = is_partial ? &arrival : nullptr;
}

void Incoming::accept(const Peer& peer, Record& record, const MessageHeader& message) {
  check(peer, {message.tag, message.fingerprint, message.bytes}, record.envelope());
  record.bytes = message.bytes;  // may be fewer than it has room for
}

// Receives the first bytes of a buffered message, or all of them.
void Incoming::receive_bytes(Peer& peer, Record& record, std::span<const std::byte> payload) {
  record.deliver(payload);
  if (record.moved < record.bytes) {
    peer.partial = &record;
    return;
  }
  if (peer.partial == &record) peer.partial = nullptr;
  peer.in.count_match(record.bytes);
  complete(peer, record);
}

// Between the parts of a message the queue has only replies and chunks. So a part belongs to the
// last message that came, whether its receive is posted or not.
void Incoming::receive_more(Peer& peer, const Slot& slot) {
  const Extent extent = body_of<Buffered>(slot).extent;
  const std::span<const std::byte> part{peer.in.at(extent), extent.bytes};
  if (Record* const record = peer.partial) {
    if (part.size() > record->bytes - record->moved) throw nonsense();
    receive_bytes(peer, *record, part);
  } else if (Arrival* const arrival = peer.partial_arrival) {
    if (part.size() > arrival->message.bytes - arrival->payload.size()) throw nonsense();
    arrival->payload.append(part);
  } else {
    throw nonsense();
  }
  peer.in.consume(extent);
}

void Incoming::receive_chunk(Peer& peer, const Slot& slot) {
  const auto [extent, piece] = body_of<Chunk>(slot);
  Record& record = records_.find(slot.id);
  if (record.is_send() || !record.is_granted) throw nonsense();
  if (piece.bytes > 0) {
    receive_piece(peer, record, piece);
  } else {
    if (extent.bytes > record.bytes - record.moved) throw nonsense();
    record.deliver({peer.in.at(extent), extent.bytes});
    peer.in.consume(extent);
  }
  if (record.moved == record.bytes) complete(peer, record);
}

void Incoming::receive_piece(Peer& peer, Record& record, const WindowPiece& piece) {
  if (piece.bytes > record.bytes - record.moved) throw nonsense();
  record.deliver(Peers::staged_bytes(peer, piece));
  Peers::release(peer, piece);
}

void Incoming::complete(Peer& peer, Record& record) {
  --peer.awaited;
  records_.complete(record);
}

// Answers a request whose receive is posted and matches.
void Incoming::grant(Peer& peer, Record& record, const MessageHeader& message,
                     std::span<const Range> ranges) {
  record.peer_id = message.id;
  if (message.access != AccessMode::staged) return copies_.begin(peer, record, message, ranges);
  record.is_granted = message.first.bytes < record.bytes;
  if (record.is_granted)
    outgoing_.send_reply(peer, {.kind = SlotType::grant, .peer_id = message.id, .id = record.id});
  if (message.first.bytes > 0) receive_piece(peer, record, message.first);
  if (!record.is_granted) complete(peer, record);
}

// Reads no slots: if nothing is awaited, there may be too many.
void Incoming::find_unmatched(Peer& peer, std::uint64_t pending) const {
  if (const auto error = matcher_.find_unmatched(peer.rank, pending)) throw Error{*error};
  if (!peer.in.attached() || !peer.in.has_slot()) return;
  const Slot& slot = peer.in.slot();
  const bool is_message = slot.kind == SlotType::small || slot.kind == SlotType::buffered ||
                          slot.kind == SlotType::request;
  const std::uint64_t fingerprint = slot.fingerprint;
  if (is_message && is_unmatched(fingerprint, pending))
    throw unmatched_message(peer.rank, fingerprint, pending);
}

// Reads all slots, since the message may lie behind others.
std::optional<Unexpected> Incoming::probe(Rank from, std::uint32_t tag) {
  return matcher_.probe(from, tag, [this](Rank rank) {
    Peer& peer = peers_[rank];
    if (peer.member == nullptr) return;
    if (!peer.in.attached()) peers_.attach(peer);
    if (!peer.in.attached() || !peer.in.has_slot()) return;
    ++peer.awaited;
    read_slots(peer);
    --peer.awaited;
  });
}

}  // namespace tutti::shm
