// The receiver's half of the transport.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <tutti/spi/copy.hpp>
#include <tutti/spi/fingerprint.hpp>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// Bytes read in one poll where they lie, so that deadlines and other messages are looked at.
constexpr std::uint64_t kPullBytes = std::uint64_t{256} << 10;
/// The same where the system reads them, of which each call takes 2 us beside the 90 for a MiB.
constexpr std::uint64_t kReadBytes = std::uint64_t{4} << 20;

}  // namespace

void ShmTransport::check(const Peer& peer, const Transfer& transfer, std::uint64_t bytes,
                         std::uint64_t fingerprint, std::uint64_t their_bytes) const {
  const auto rank = static_cast<Rank>(&peer - peers_.data());
  if (fingerprint != transfer.fingerprint)
    throw wrong_call(rank, fingerprint, transfer.fingerprint);
  if (their_bytes != bytes) throw wrong_length(rank, their_bytes, bytes);
}

// A message that meets its receive.
void ShmTransport::meet(const Peer& peer, Record& record, const Message& message) const {
  check(peer, record.transfer, record.bytes, message.fingerprint, message.bytes);
  record.is_exchanged = !message.is_alone;
}

void ShmTransport::deliver(Record& record, std::span<const std::byte> bytes) {
  if (record.transfer.combiner == nullptr) record.cursor.write(bytes.data(), bytes.size());
  else if (!bytes.empty()) record.transfer.combiner->combine(bytes);
  record.moved += bytes.size();
}

void ShmTransport::post_receive(Peer& peer, const Transfer& transfer, std::uint64_t bytes) {
  if (peer.receives.empty() && peer.arrivals.empty() && take_at_once(peer, transfer, bytes)) return;
  const std::uint32_t id = add_record(transfer, bytes);
  const auto found = std::ranges::find_if(
      peer.arrivals, [&](const Arrival& arrival) { return arrival.message.tag == transfer.tag; });
  if (found == peer.arrivals.end()) {
    peer.receives.push_back(id);
    ++peer.awaited;
    return;
  }
  meet(peer, records_[id], found->message);
  ++peer.awaited;
  Arrival arrival = std::move(*found);
  peer.arrivals.erase(found);
  --unexpected_;
  if (arrival.message.is_request) {
    grant(peer, id, arrival.message, arrival.ranges);
  } else {
    take_bytes(peer, id, arrival.payload.view());
  }
  spare_arrivals_.push_back(std::move(arrival));
}

std::uint32_t ShmTransport::find_receive(Peer& peer, std::uint32_t tag) {
  for (auto i = peer.receives.begin(); i != peer.receives.end(); ++i) {
    if (records_[*i].transfer.tag != tag) continue;
    const std::uint32_t id = *i;
    peer.receives.erase(i);
    return id;
  }
  return kNone;
}

void ShmTransport::read_slots(Peer& peer) {
  while (peer.awaited > 0 && peer.in.has_slot()) {
    const Slot& slot = peer.in.slot();
    switch (slot.kind) {
      case Kind::small:
      case Kind::buffered:
        if (!take_whole(peer, slot)) take_message(peer, slot);
        break;
      case Kind::request: take_message(peer, slot); break;
      case Kind::more: take_more(peer, slot); break;
      case Kind::chunk: take_chunk(peer, slot); break;
      case Kind::share: take_share(peer, slot); break;
      case Kind::stored: take_stored(peer, slot); break;
      case Kind::grant:
      case Kind::done: take_answer(peer, slot); break;
      default: throw nonsense();
    }
    peer.in.consume();
    peer.silent = 0;
    if (!peer.streams.empty()) return;  // sending and receiving take turns
  }
}

void ShmTransport::take_message(Peer& peer, const Slot& slot) {
  if (peer.partial != kNone) throw nonsense();  // the rest of it comes first
  Message message{.tag = slot.tag,
                  .id = slot.id,
                  .fingerprint = slot.fingerprint,
                  .bytes = 0,
                  .is_request = slot.kind == Kind::request,
                  .is_alone = slot.alone != 0,
                  .access = slot.access};
  std::span<const std::byte> payload;
  Extent extent{};
  if (message.is_request) {
    const auto request = body_of<Request>(slot);
    const bool in_place = message.access == AccessMode::in_place;
    if (in_place) message.in_place = body_of<InPlace>(slot);
    message.bytes = in_place ? message.in_place.message.bytes : request.bytes;
    if (!in_place && message.access != AccessMode::stream) extent = request.ranges;
  } else if (slot.kind == Kind::small) {
    payload = {slot.body, std::min<std::size_t>(slot.length, kInlineBytes)};
    message.bytes = payload.size();
  } else {
    const auto buffered = body_of<Buffered>(slot);
    extent = buffered.extent;
    message.bytes = buffered.bytes;
    if (extent.bytes > message.bytes) throw nonsense();
  }
  if (extent.bytes > 0) payload = {peer.in.at(extent), extent.bytes};
  const std::uint32_t id = find_receive(peer, message.tag);
  if (message.is_request) read_ranges(payload);
  if (message.is_request && message.access == AccessMode::in_place)
    ranges_.assign(1, message.in_place.message);
  if (id == kNone) {
    keep(peer, message, payload);
  } else {
    meet(peer, records_[id], message);
    if (message.is_request) {
      grant(peer, id, message, ranges_);
    } else {
      take_bytes(peer, id, payload);
    }
  }
  if (extent.bytes > 0) peer.in.consume(extent);
}

// Bytes of a message that its sender did not wait with: all of them, or those that have come so
// far.
void ShmTransport::take_bytes(Peer& peer, std::uint32_t id, std::span<const std::byte> payload) {
  Record& record = records_[id];
  deliver(record, payload);
  if (record.moved < record.bytes) {
    peer.partial = id;
    return;
  }
  if (peer.partial == id) peer.partial = kNone;
  peer.in.count_match(record.bytes);
  --peer.awaited;
  finish(id);
}

// The parts of a message follow each other on the queue, among answers and chunks. So the message
// they belong to is the last one that came, whether its receive is there or not.
void ShmTransport::take_more(Peer& peer, const Slot& slot) {
  const Extent extent = body_of<Buffered>(slot).extent;
  const std::span<const std::byte> part{peer.in.at(extent), extent.bytes};
  if (peer.partial != kNone) {
    const Record& record = records_[peer.partial];
    if (part.size() > record.bytes - record.moved) throw nonsense();
    take_bytes(peer, peer.partial, part);
  } else {
    if (peer.arrivals.empty()) throw nonsense();
    Arrival& last = peer.arrivals.back();
    if (last.message.is_request || part.size() > last.message.bytes - last.payload.size())
      throw nonsense();
    last.payload.put(part);
  }
  peer.in.consume(extent);
}

void ShmTransport::read_ranges(std::span<const std::byte> list) {
  ranges_.resize(list.size() / sizeof(Range));
  if (!ranges_.empty()) copy_bytes(ranges_.data(), list.data(), ranges_.size() * sizeof(Range));
}

void ShmTransport::keep(Peer& peer, const Message& message, std::span<const std::byte> payload) {
  Arrival arrival;
  if (!spare_arrivals_.empty()) {
    arrival = std::move(spare_arrivals_.back());
    spare_arrivals_.pop_back();
  }
  arrival.message = message;
  arrival.payload.clear();
  if (message.is_request) arrival.ranges.assign(ranges_.begin(), ranges_.end());
  else arrival.payload.put(payload);
  peer.arrivals.push_back(std::move(arrival));
  ++unexpected_;
}

// What is on the queue is not taken off it: from where nothing is awaited it may be too much.
void ShmTransport::find_unmatched_of(Peer& peer, std::uint64_t pending) {
  const auto rank = static_cast<Rank>(&peer - peers_.data());
  for (const Arrival& arrival : peer.arrivals)
    if (is_unmatched(arrival.message.fingerprint, pending))
      throw unmatched_message(rank, arrival.message.fingerprint, pending);
  if (!peer.in.attached() || !peer.in.has_slot()) return;
  const Slot& slot = peer.in.slot();
  const bool is_message =
      slot.kind == Kind::small || slot.kind == Kind::buffered || slot.kind == Kind::request;
  const std::uint64_t fingerprint = slot.fingerprint;
  if (is_message && is_unmatched(fingerprint, pending))
    throw unmatched_message(rank, fingerprint, pending);
}

void ShmTransport::find_unmatched(std::uint64_t pending, bool thoroughly) {
  if (failure_ || domain_->segment().guard().is_forked()) return;
  try {
    for (Peer& peer : peers_) {
      if (peer.member == nullptr) continue;
      if (thoroughly && !peer.in.attached()) attach(peer);
      find_unmatched_of(peer, pending);
    }
  } catch (const Error& error) {
    failure_ = error;
    throw;
  }
}

// The receive of a request is there, and agrees.
void ShmTransport::grant(Peer& peer, std::uint32_t id, const Message& message,
                         std::span<const Range> ranges) {
  records_[id].theirs = message.id;
  const PayloadPath path = path_of(peer, records_[id], message, ranges.size());
  records_[id].path = path;
  if (path == PayloadPath::stream) {
    records_[id].is_streamed = true;
    send_answer(peer, {.kind = Kind::grant, .theirs = message.id, .ours = id});
    return;
  }
  std::uint64_t bytes = 0;
  for (const Range& range : ranges) {
    if (message.access != AccessMode::process &&
        !peer.member->mapping->holds(range.where, range.bytes))
      throw nonsense();
    if (range.bytes == 0 || range.bytes > message.bytes - bytes) throw nonsense();
    bytes += range.bytes;
  }
  if (bytes != message.bytes) throw nonsense();
  const bool waits = records_[id].transfer.kind == Transfer::Kind::wait;
  if (message.access != AccessMode::process && waits && ranges.size() == 1)
    return leave(peer, id, message, ranges.front());
  Pull pull;
  if (!spare_pulls_.empty()) {
    pull = std::move(spare_pulls_.back());
    spare_pulls_.pop_back();
  }
  pull.record = id;
  pull.access = message.access;
  pull.ranges.assign(ranges.begin(), ranges.end());
  pull.range = 0;
  pull.offset = 0;
  if (path == PayloadPath::share) ask_for_rest(peer, records_[id], id, pull.ranges.front());
  peer.pulls.push_back(std::move(pull));
}

void ShmTransport::take_chunk(Peer& peer, const Slot& slot) {
  const auto extent = body_of<Extent>(slot);
  Record& record = record_of(slot.id);
  if (record.transfer.kind == Transfer::Kind::send || !record.is_streamed ||
      extent.bytes > record.bytes - record.moved)
    throw nonsense();
  deliver(record, {peer.in.at(extent), extent.bytes});
  peer.in.consume(extent);
  if (record.moved < record.bytes) return;
  --peer.awaited;
  finish(slot.id);
}

void ShmTransport::take_answer(Peer& peer, const Slot& slot) {
  const std::uint32_t id = slot.id;
  Record& record = record_of(id);
  if (record.transfer.kind != Transfer::Kind::send || record.is_streamed || record.rest.bytes > 0)
    throw nonsense();
  if (slot.kind == Kind::grant && record.path == PayloadPath::share) throw nonsense();
  --peer.awaited;
  if (slot.kind == Kind::done) {
    const bool is_stored = body_of<Answer>(slot).is_there != 0;
    if (is_stored && record.transfer.result.data == nullptr) throw nonsense();
    return finish(id, is_stored);
  }
  record.is_streamed = true;
  record.theirs = body_of<Answer>(slot).ours;
  peer.streams.push_back(id);
}

void ShmTransport::pull_all(Peer& peer) {
  for (std::size_t i = 0; i < peer.pulls.size();) {
    Pull& pull = peer.pulls[i];
    Record& record = records_[pull.record];
    if (pull.range < pull.ranges.size()) pull_some(peer, pull, record);
    // What was read of a rank that gave its memory back may be anything.
    const bool is_read = pull.range == pull.ranges.size();
    const bool is_worth_nothing = is_read && !may_touch(peer);
    if (is_worth_nothing) suspect(peer, kGaveUp);
    if (is_worth_nothing || record.moved < record.bytes) {
      ++i;
      continue;
    }
    --peer.awaited;
    const std::uint32_t id = pull.record;
    spare_pulls_.push_back(std::move(pull));
    peer.pulls.erase(peer.pulls.begin() + static_cast<std::ptrdiff_t>(i));
    send_answer(peer, {Kind::done, record.theirs, id});
    finish(id);
  }
}

void ShmTransport::pull_some(Peer& peer, Pull& pull, Record& record) {
  const Range& range = pull.ranges[pull.range];
  const std::uint64_t most = pull.access == AccessMode::process ? kReadBytes : kPullBytes;
  Range part{range.where + pull.offset, std::min(range.bytes - pull.offset, most)};
  if (pull.access != AccessMode::process)
    deliver(record, {peer.member->mapping->base() + part.where, part.bytes});
  else part.bytes = pull_from_process(peer, part, record);
  pull.offset += part.bytes;
  if (pull.offset < range.bytes) return;
  ++pull.range;
  pull.offset = 0;
}

std::size_t ShmTransport::pull_from_process(Peer& peer, const Range& range, Record& record) {
  const pid_t process = peer.member->process;
  const bool combines = record.transfer.combiner != nullptr;
  const Cursor before = record.cursor;
  Piece to = combines ? Piece{nullptr, range.bytes} : record.cursor.next(range.bytes);
  for (std::size_t read = 0; read < to.bytes;) {
    const ssize_t got =
        combines ? process_copies_.read_here(process, range.where, range.bytes, to.data)
                 : process_copies_.read(process, range.where + read, to.data + read, to.bytes - read);
    if (got > 0) {
      read += static_cast<std::size_t>(got);
      if (combines) to.bytes = read;
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (errno == ESRCH) {  // the memory of a process goes before others are told of its end
      suspect(peer, "has ended, and its memory with it");
      record.cursor = before;
      return 0;
    }
    if (errno == EFAULT && !may_touch(peer)) {  // what it took back it may have given to the system
      suspect(peer, kGaveUp);
      record.cursor = before;
      return 0;
    }
    const auto rank = static_cast<Rank>(&peer - peers_.data());
    throw Error{
        ErrorCode::transport,
        "cannot read the memory of rank " + std::to_string(rank) + ": " + std::strerror(errno),
        rank};
  }
  if (combines) deliver(record, {to.data, to.bytes});
  else record.moved += to.bytes;
  return to.bytes;
}

}  // namespace tutti::shm
