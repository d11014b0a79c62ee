#include "outgoing.hpp"

#include <algorithm>
#include <bit>

#include "payload_path.hpp"

namespace tutti::shm {
namespace {

/// The most bytes of a message that are sent with it, if the ring has room for them. If ranks share
/// cores, the ring is the only limit: a sender that waits for its receiver gives up its core, and
/// gets it back later than two more copies take.
constexpr std::uint64_t kEager = 32768;
/// The bytes of each part of a message that is sent alone: the receiver reads one part while the
/// next is written.
constexpr std::uint64_t kPart = 8192;
/// The least bytes of a visible message that is read where it lies: a request costs less than a
/// second copy.
constexpr std::uint64_t kReadVisible = 8192;
/// The most bytes that are sent to a rank before it has posted their receives.
constexpr std::uint64_t kCredit = std::uint64_t{256} << 10;
/// Bytes of a chunk in the ring of bytes, which is used if the window has no free piece.
constexpr std::uint64_t kChunk = 32768;
/// The fewest parts of a long message that is sent alone, so that its receiver reads one while its
/// sender stages the next. Otherwise a part is as long as a piece, since both ranks both send and
/// receive, and are always busy.
constexpr std::uint64_t kPartsAlone = 4;

Slot& fill(SendEnd& out, SlotType kind, const Transfer& transfer, std::uint32_t id) noexcept {
  Slot& slot = out.slot();
  slot.kind = kind;
  slot.tag = transfer.tag;
  slot.id = id;
  slot.fingerprint = transfer.fingerprint;
  return slot;
}

}  // namespace

void Outgoing::post(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (peer.waiting.empty() && may_be_early(peer, transfer, bytes) &&
      send_message(peer, transfer, bytes))
    return records_.complete(transfer.cookie);
  peer.waiting.push_back(&records_.add(transfer, bytes));
  send_waiting(peer);
}

bool Outgoing::may_be_early(Peer& peer, const Transfer& transfer, std::uint64_t bytes) noexcept {
  if (bytes > kInlineBytes) {
    if (is_in_place(domain(), peer, transfer)) return false;
    if (bytes >= kReadVisible && is_visible(domain(), peer, transfer)) return false;
    if ((bytes > kEager && !peers_.options().oversubscribed) || bytes > peer.out.byte_limit())
      return false;
  }
  return peer.out.unreceived(false) + bytes <= kCredit ||
         peer.out.unreceived(true) + bytes <= kCredit;
}

void Outgoing::open_bytes(Peer& peer) {
  if (!peer.out.has_bytes()) peers_.open_queue(peer, QueuePart::bytes);
}

bool Outgoing::send_message(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  return bytes <= kInlineBytes ? send_small(peer, transfer, bytes)
                               : send_buffered(peer, transfer, bytes);
}

bool Outgoing::send_small(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (!peer.out.has_slot()) return false;
  Slot& slot = fill(peer.out, SlotType::small, transfer, 0);
  slot.length = static_cast<std::uint8_t>(bytes);
  Cursor{transfer.pieces}.read(slot.body, bytes);
  peer.out.count_payload(bytes);
  peer.out.send();
  return true;
}

bool Outgoing::send_buffered(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  const bool is_alone = records_.is_alone();
  const std::uint64_t most = is_alone ? kPart : kEager;
  if (!peer.out.fits(bytes, most)) return false;
  Cursor cursor{transfer.pieces};
  for (std::uint64_t sent = 0; sent < bytes;) {
    Extent extent{};
    expects(peer.out.find_room(std::min(most, bytes - sent), extent), "there is room for a part");
    copy_to_shared(peer, cursor, peer.out.at(extent), extent.bytes);
    const SlotType kind = sent == 0 ? SlotType::buffered : SlotType::more;
    Slot& slot = fill(peer.out, kind, transfer, 0);
    set_body(slot, Buffered{extent, bytes});
    peer.out.commit_room(extent);
    peer.out.send();
    sent += extent.bytes;
  }
  peer.out.count_payload(bytes);
  return true;
}

std::uint64_t Outgoing::offset_of(const Peer& peer, const std::byte* data,
                                  std::size_t bytes) const {
  const std::optional<std::uint64_t> offset = domain().find_offset(data, bytes, *peer.member);
  expects(offset.has_value(), "visible memory lives as long as calls on it");
  return *offset;
}

InPlace Outgoing::in_place_of(const Peer& peer, const Transfer& transfer) const {
  const Piece& piece = transfer.pieces.front();
  const ResultPlace& result = transfer.result;
  return {.message = {offset_of(peer, piece.data, piece.bytes), piece.bytes},
          .result = {offset_of(peer, result.data, result.bytes), result.bytes},
          .ordinal = result.ordinal};
}

bool Outgoing::list_ranges(Peer& peer, const Record& record, AccessMode access, Request& request) {
  const std::span<const Piece> pieces = record.transfer.pieces;
  open_bytes(peer);
  if (!peer.out.find_room(pieces.size() * sizeof(Range), request.ranges)) return false;
  std::byte* to = peer.out.at(request.ranges);
  for (const Piece& piece : pieces) {
    const Range range{access == AccessMode::process ? reinterpret_cast<std::uint64_t>(piece.data)
                                                    : offset_of(peer, piece.data, piece.bytes),
                      piece.bytes};
    std::memcpy(to, &range, sizeof range);
    to += sizeof range;
  }
  return true;
}

bool Outgoing::send_request(Peer& peer, Record& record) {
  if (!peer.out.has_slot()) return false;
  const AccessMode access = access_mode_of(domain(), peer, record);
  Request request{.bytes = record.bytes, .ranges = {}, .first = {}};
  record.is_read = access == AccessMode::process;
  const bool lists = access == AccessMode::visible || record.is_read;
  if (lists && !list_ranges(peer, record, access, request)) return false;
  Slot& slot = fill(peer.out, SlotType::request, record.transfer, record.id);
  slot.access = access;
  if (access == AccessMode::staged) (void)stage_part(peer, record, request.first);
  if (access == AccessMode::in_place) set_body(slot, in_place_of(peer, record.transfer));
  else set_body(slot, request);
  if (lists) peer.out.commit_room(request.ranges);
  peer.out.send();
  if (access == AccessMode::staged && record.moved == record.bytes) records_.complete(record);
  else ++peer.awaited;  // its reply
  return true;
}

// All parts except the last one are equal, so that a message to several ranks is cut equally.
bool Outgoing::stage_part(Peer& peer, Record& record, WindowPiece& piece) {
  const std::uint64_t most = window_.piece_bytes();
  if (most == 0) return false;
  const bool overlaps = record.is_alone && !peers_.options().oversubscribed;
  const std::uint64_t part =
      overlaps ? std::clamp(std::bit_floor(record.bytes / kPartsAlone), kChunk, most) : most;
  const std::uint64_t bytes = std::min(part - record.moved % part, record.bytes - record.moved);
  const std::optional<WindowPiece> staged = window_.stage(peer, record, bytes);
  if (!staged) return false;
  piece = *staged;
  record.moved += bytes;
  return true;
}

void Outgoing::send_reply(Peer& peer, const Reply& reply) {
  if (!peer.out.is_open()) peers_.open_queue(peer, QueuePart::slots);
  if (peer.out.has_slot()) write_reply(peer, reply);
  else peer.replies.push_back(reply);
}

void Outgoing::write_reply(Peer& peer, const Reply& reply) {
  Slot& slot = peer.out.slot();
  slot.kind = reply.kind;
  slot.id = reply.peer_id;
  set_body(slot, Answer{reply.id, reply.is_stored ? 1u : 0u, reply.moved});
  peer.out.send();
}

void Outgoing::receive_reply(Peer& peer, const Slot& slot) {
  Record& record = records_.find(slot.id);
  if (!record.is_send() || record.is_granted) throw nonsense();
  --peer.awaited;
  const auto answer = body_of<Answer>(slot);
  if (slot.kind == SlotType::done) {
    const bool is_stored = answer.is_stored != 0;
    if (is_stored && record.transfer.result.data == nullptr) throw nonsense();
    return records_.complete(record, is_stored);
  }
  if (answer.moved > 0 && (!record.is_read || answer.moved >= record.bytes)) throw nonsense();
  if (record.is_read) {  // the system has not copied it
    peer.reads_process = false;
    record.cursor.pass(answer.moved, [](std::span<const std::byte>) {});
    record.moved = answer.moved;
  }
  record.is_granted = true;
  record.peer_id = answer.id;
  peer.granted.push_back(&record);
}

// Writes replies first, since the peer waits for them, then messages in the order posted.
void Outgoing::send_waiting(Peer& peer) {
  if (!peer.out.is_open()) peers_.open_queue(peer, QueuePart::slots);
  std::size_t replied = 0;
  for (; replied < peer.replies.size() && peer.out.has_slot(); ++replied)
    write_reply(peer, peer.replies[replied]);
  peer.replies.erase(peer.replies.begin(),
                     peer.replies.begin() + static_cast<std::ptrdiff_t>(replied));
  std::size_t sent = 0;
  for (; sent < peer.waiting.size(); ++sent) {
    Record& record = *peer.waiting[sent];
    if (!may_be_early(peer, record.transfer, record.bytes)) {
      if (!send_request(peer, record)) break;
      continue;
    }
    if (record.bytes > kInlineBytes) open_bytes(peer);
    if (!send_message(peer, record.transfer, record.bytes)) break;
    records_.complete(record);
  }
  peer.waiting.erase(peer.waiting.begin(),
                     peer.waiting.begin() + static_cast<std::ptrdiff_t>(sent));
}

bool Outgoing::may_send(Peer& peer) {
  if (peer.granted.empty() && peer.waiting.empty() && peer.replies.empty()) return false;
  if (!peer.out.is_open() || (!peer.granted.empty() && !peer.out.has_bytes())) return true;
  Extent extent{};
  if (!peer.granted.empty() && peer.out.has_slot() &&
      (window_.has_room(peer) ||
       peer.out.find_room(std::min<std::uint64_t>(kChunk, peer.out.byte_limit()), extent)))
    return true;
  return peer.out.has_news();
}

// Sends one chunk of each granted message in turn, so that none waits for another's end.
void Outgoing::send_chunks(Peer& peer) {
  for (std::size_t i = 0; i < peer.granted.size();) {
    Record& record = *peer.granted[i];
    if (!peer.out.has_slot()) return;
    Chunk chunk{};
    if (!stage_part(peer, record, chunk.piece) && !buffer_part(peer, record, chunk.extent)) return;
    Slot& slot = peer.out.slot();
    slot.kind = SlotType::chunk;
    slot.id = record.peer_id;
    set_body(slot, chunk);
    peer.out.send();
    if (record.moved < record.bytes) {
      ++i;
      continue;
    }
    peer.granted.erase(peer.granted.begin() + static_cast<std::ptrdiff_t>(i));
    records_.complete(record);
  }
}

// Uses the peer's own ring if no piece of the window is free, for example because ranks that wait
// elsewhere have not read theirs.
bool Outgoing::buffer_part(Peer& peer, Record& record, Extent& extent) {
  open_bytes(peer);
  const std::uint64_t most = std::min<std::uint64_t>(kChunk, peer.out.byte_limit());
  const std::uint64_t bytes = std::min(most - record.moved % most, record.bytes - record.moved);
  if (!peer.out.find_room(bytes, extent)) return false;
  copy_to_shared(peer, record.cursor, peer.out.at(extent), bytes);
  record.moved += bytes;
  peer.out.commit_room(extent);
  return true;
}

}  // namespace tutti::shm
