// The sender's half of the transport.
#include <algorithm>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// Up to here a message's bytes go with it, where the ring has so much room (that is all it takes
/// where ranks share cores: a sender that waits to be read gives its core away, and gets it back
/// later than two more copies take),
constexpr std::uint64_t kEager = 32768;
/// and up to here those of a rank that has nothing else to do meanwhile: less than what may be read
/// where it lies, for cores that share no cache are several times slower by copying at both ends.
constexpr std::uint64_t kEagerAlone = (std::uint64_t{64} << 10) - 1;
/// in parts of so many, so that the receiver reads one while the next is written.
constexpr std::uint64_t kPart = 8192;
/// From here up what both ranks see is read where it lies: a request costs less than a second copy.
constexpr std::uint64_t kReadVisible = 8192;
/// So many bytes may be sent to a rank that has not posted their receives.
constexpr std::uint64_t kCredit = std::uint64_t{256} << 10;
/// Bytes of a chunk: shorter ones cost more of the time when both ends copy both ways, longer ones
/// make the receiver wait for the first.
constexpr std::uint64_t kChunk = 32768;

Slot& fill(SendEnd& out, Kind kind, const Transfer& transfer, std::uint32_t id) noexcept {
  Slot& slot = out.slot();
  slot.kind = kind;
  slot.tag = transfer.tag;
  slot.id = id;
  slot.fingerprint = transfer.fingerprint;
  return slot;
}

}  // namespace

void ShmTransport::post_send(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (peer.waiting.empty() && may_be_early(peer, transfer, bytes)) {
    const bool sent = bytes <= kInlineBytes ? send_small(peer, transfer, bytes)
                                            : send_buffered(peer, transfer, bytes);
    if (sent) {
      --outgoing_;
      complete(transfer.cookie);
      return;
    }
  }
  peer.waiting.push_back(add_record(transfer, bytes));
  send_waiting(peer);
}

// Both ranks see the memory, so the message stays where it is, and the result is stored there.
bool ShmTransport::is_in_place(const Transfer& transfer) const noexcept {
  const ResultPlace& result = transfer.result;
  if (result.data == nullptr || transfer.pieces.size() > 1) return false;
  const Segment& segment = domain_->segment();
  const Piece& piece = transfer.pieces.front();
  return segment.contains(piece.data, piece.bytes) && segment.contains(result.data, result.bytes);
}

bool ShmTransport::may_be_early(Peer& peer, const Transfer& transfer,
                                std::uint64_t bytes) noexcept {
  if (bytes > kInlineBytes) {
    if (is_in_place(transfer)) return false;
    if (bytes >= kReadVisible && is_visible(transfer)) return false;
    const std::uint64_t limit = is_alone_ ? kEagerAlone : kEager;
    if ((bytes > limit && !crowded_) || bytes > peer.out.byte_limit()) return false;
  }
  return peer.out.unmatched(false) + bytes <= kCredit ||
         peer.out.unmatched(true) + bytes <= kCredit;
}

bool ShmTransport::send_small(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (!peer.out.has_slot()) return false;
  Slot& slot = fill(peer.out, Kind::small, transfer, 0);
  slot.length = static_cast<std::uint8_t>(bytes);
  Cursor{transfer.pieces}.read(slot.body, bytes);
  peer.out.count_payload(bytes);
  peer.out.send();
  return true;
}

bool ShmTransport::send_buffered(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  const std::uint64_t most = is_alone_ ? kPart : kEager;
  if (!peer.out.fits(bytes, most)) return false;
  Cursor cursor{transfer.pieces};
  for (std::uint64_t sent = 0; sent < bytes;) {
    Extent extent{};
    expects(peer.out.find_room(std::min(most, bytes - sent), extent), "there is room for a part");
    put(peer, cursor, extent);
    const Kind kind = sent == 0 ? Kind::buffered : Kind::more;
    Slot& slot = fill(peer.out, kind, transfer, 0);
    slot.alone = is_alone_ ? 1 : 0;
    set_body(slot, Buffered{extent, bytes});
    peer.out.take_room(extent);
    peer.out.send();
    sent += extent.bytes;
  }
  peer.out.count_payload(bytes);
  return true;
}

// Copies bytes into the ring, in whichever way is quick on these two cores.
void ShmTransport::put(Peer& peer, Cursor& cursor, const Extent& extent) const {
  std::byte* const to = peer.out.at(extent);
  switch (peer.copy_tuner.choose(extent.bytes)) {
    case CopyTuner::Copy::plain: return cursor.read(to, extent.bytes);
    case CopyTuner::Copy::past: cursor.stream(to, extent.bytes); return end_streams();
    case CopyTuner::Copy::timed: break;
  }
  const Duration began = now();
  cursor.read(to, extent.bytes);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // waits for the stores
  peer.copy_tuner.took(extent.bytes, now() - began);
}

InPlace ShmTransport::places_of(const Transfer& transfer) const noexcept {
  const std::byte* const segment = domain_->segment().mapping().base();
  const Piece& piece = transfer.pieces.front();
  const ResultPlace& result = transfer.result;
  return {.message = {static_cast<std::uint64_t>(piece.data - segment), piece.bytes},
          .result = {static_cast<std::uint64_t>(result.data - segment), result.bytes},
          .ordinal = result.ordinal};
}

bool ShmTransport::list_ranges(Peer& peer, const Record& record, AccessMode access,
                               Request& request) {
  const std::span<const Piece> pieces = record.transfer.pieces;
  if (!peer.out.find_room(pieces.size() * sizeof(Range), request.ranges)) return false;
  std::byte* to = peer.out.at(request.ranges);
  const std::byte* const segment = domain_->segment().mapping().base();
  for (const Piece& piece : pieces) {
    const Range range{access == AccessMode::visible
                          ? static_cast<std::uint64_t>(piece.data - segment)
                          : reinterpret_cast<std::uint64_t>(piece.data),
                      piece.bytes};
    std::memcpy(to, &range, sizeof range);
    to += sizeof range;
  }
  return true;
}

bool ShmTransport::send_request(Peer& peer, std::uint32_t id) {
  if (!peer.out.has_slot()) return false;
  const Record& record = records_[id];
  const AccessMode access = access_for(record);
  Request request{.bytes = record.bytes, .ranges = {}};
  const bool lists = access == AccessMode::visible || access == AccessMode::process;
  if (lists && !list_ranges(peer, record, access, request)) return false;
  Slot& slot = fill(peer.out, Kind::request, record.transfer, id);
  slot.access = access;
  slot.alone = record.is_exchanged ? 0 : 1;
  if (access == AccessMode::in_place) set_body(slot, places_of(record.transfer));
  else set_body(slot, request);
  if (lists) peer.out.take_room(request.ranges);
  peer.out.send();
  ++peer.awaited;  // its answer
  return true;
}

void ShmTransport::send_answer(Peer& peer, const Answering& answering) {
  if (!peer.out.is_open()) open_queue(peer, QueuePart::slots);
  if (!peer.out.has_slot()) {
    peer.answers.push_back(answering);
    return;
  }
  Slot& slot = peer.out.slot();
  slot.kind = answering.kind;
  slot.id = answering.theirs;
  if (answering.kind == Kind::share)
    set_body(slot, Share{records_[answering.ours].rest, answering.ours});
  else set_body(slot, Answer{answering.ours, answering.is_there ? 1u : 0u});
  peer.out.send();
}

// Answers first, for they let the other side go on; then messages, in the order posted.
void ShmTransport::send_waiting(Peer& peer) {
  if (!peer.out.is_open()) open_queue(peer, QueuePart::slots);
  while (!peer.answers.empty() && peer.out.has_slot()) {
    const Answering answering = peer.answers.front();
    peer.answers.erase(peer.answers.begin());
    send_answer(peer, answering);
  }
  std::size_t sent = 0;
  for (; sent < peer.waiting.size(); ++sent) {
    const std::uint32_t id = peer.waiting[sent];
    const Record& record = records_[id];
    if (record.bytes > kInlineBytes && !peer.out.has_bytes()) open_queue(peer, QueuePart::bytes);
    if (!may_be_early(peer, record.transfer, record.bytes)) {
      if (!send_request(peer, id)) break;
      continue;
    }
    const bool gone = record.bytes <= kInlineBytes
                          ? send_small(peer, record.transfer, record.bytes)
                          : send_buffered(peer, record.transfer, record.bytes);
    if (!gone) break;
    finish(id);
  }
  peer.waiting.erase(peer.waiting.begin(),
                     peer.waiting.begin() + static_cast<std::ptrdiff_t>(sent));
}

bool ShmTransport::may_send(Peer& peer) {
  if (peer.streams.empty() && peer.waiting.empty() && peer.answers.empty()) return false;
  if (!peer.out.is_open() || (!peer.streams.empty() && !peer.out.has_bytes())) return true;
  Extent extent{};
  if (!peer.streams.empty() && peer.out.has_slot() &&
      peer.out.find_room(std::min<std::uint64_t>(kChunk, peer.out.byte_limit()), extent))
    return true;
  return peer.out.has_news();
}

// One chunk of each granted message in turn, so that none waits for another's end.
void ShmTransport::send_chunks(Peer& peer) {
  if (!peer.out.has_bytes()) open_queue(peer, QueuePart::bytes);
  for (std::size_t i = 0; i < peer.streams.size();) {
    const std::uint32_t id = peer.streams[i];
    Record& record = records_[id];
    const std::uint64_t bytes =
        std::min({kChunk, std::uint64_t{peer.out.byte_limit()}, record.bytes - record.moved});
    Extent extent{};
    if (!peer.out.has_slot() || !peer.out.find_room(bytes, extent)) return;
    put(peer, record.cursor, extent);
    record.moved += bytes;
    Slot& slot = peer.out.slot();
    slot.kind = Kind::chunk;
    slot.id = record.theirs;
    set_body(slot, extent);
    peer.out.take_room(extent);
    peer.out.send();
    if (record.moved < record.bytes) {
      ++i;
      continue;
    }
    peer.streams.erase(peer.streams.begin() + static_cast<std::ptrdiff_t>(i));
    finish(id);
  }
}

}  // namespace tutti::shm
