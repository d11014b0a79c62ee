#include "direct_copies.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace tutti::shm {
namespace {

/// The longest wait of an abort for ranks that write into this rank's memory, which they do for at
/// most one fold.
constexpr std::chrono::milliseconds kPatience{100};
/// The most bytes that one poll reads from visible memory, so that deadlines are checked and other
/// messages move in between.
constexpr std::uint64_t kVisibleBytes = std::uint64_t{256} << 10;

/// @return whether the ranges have the message's bytes, and lie in the peer's segment, unless the
/// system checks their addresses.
bool are_valid(const Peer& peer, const MessageHeader& message,
               std::span<const Range> ranges) noexcept {
  const bool is_elsewhere = message.access == AccessMode::process;
  std::uint64_t bytes = 0;
  for (const Range& range : ranges) {
    if (!is_elsewhere && !peer.member->mapping->holds(range.where, range.bytes)) return false;
    if (range.bytes == 0 || range.bytes > message.bytes - bytes) return false;
    bytes += range.bytes;
  }
  return bytes == message.bytes;
}

}  // namespace

void DirectCopies::begin(Peer& peer, Record& record, const MessageHeader& message,
                         std::span<const Range> ranges) {
  if (!are_valid(peer, message, ranges)) throw nonsense();
  const bool is_elsewhere = message.access == AccessMode::process;
  if (record.transfer.kind == Transfer::Kind::wait && ranges.size() == 1 && !is_elsewhere) {
    record.in_place = message.in_place;
    --peer.awaited;
    return records_.open_access(record, peer.member->mapping->base() + ranges.front().where);
  }
  Pull pull;
  if (!spare_pulls_.empty()) {
    pull = std::move(spare_pulls_.back());
    spare_pulls_.pop_back();
  }
  pull.record = &record;
  pull.ranges.assign(ranges.begin(), ranges.end());
  pull.is_elsewhere = is_elsewhere;
  pull.range = 0;
  pull.offset = 0;
  peer.pulls.push_back(std::move(pull));
}

void DirectCopies::pull_all(Peer& peer) {
  for (std::size_t i = 0; i < peer.pulls.size();) {
    Pull& pull = peer.pulls[i];
    const Record& record = *pull.record;
    if (pull.range < pull.ranges.size() && !pull_some(peer, pull)) {
      end(peer, i, SlotType::grant);
      continue;
    }
    // If the peer has failed and may use its memory again, the bytes that were read are undefined.
    const bool is_read = pull.range == pull.ranges.size();
    const bool is_undefined = is_read && !Peers::may_access(peer);
    if (is_undefined) Peers::report_end(peer, Peers::kGaveUp);
    if (is_undefined || record.moved < record.bytes) {
      ++i;
      continue;
    }
    end(peer, i, SlotType::done);
  }
}

// A message that is not done is asked for: its sender stages the rest.
void DirectCopies::end(Peer& peer, std::size_t index, SlotType kind) {
  Record& record = *peer.pulls[index].record;
  spare_pulls_.push_back(std::move(peer.pulls[index]));
  peer.pulls.erase(peer.pulls.begin() + static_cast<std::ptrdiff_t>(index));
  const bool is_done = kind == SlotType::done;
  outgoing_.send_reply(peer, {.kind = kind,
                              .peer_id = record.peer_id,
                              .id = record.id,
                              .moved = is_done ? 0 : record.moved});
  record.is_granted = !is_done;
  if (!is_done) return;
  --peer.awaited;
  records_.complete(record);
}

bool DirectCopies::pull_some(Peer& peer, Pull& pull) {
  const Range& range = pull.ranges[pull.range];
  const std::uint64_t bytes = std::min(range.bytes - pull.offset, kVisibleBytes);
  const std::uint64_t where = range.where + pull.offset;
  if (!pull.is_elsewhere) pull.record->deliver({peer.member->mapping->base() + where, bytes});
  else if (!copy_from_process(peer, *pull.record, where, bytes)) return false;
  pull.offset += bytes;
  if (pull.offset < range.bytes) return true;
  ++pull.range;
  pull.offset = 0;
  return true;
}

bool DirectCopies::copy_from_process(const Peer& peer, Record& record, std::uint64_t where,
                                     std::uint64_t bytes) {
  const Process& process = peer.member->front->process;
  if (record.transfer.combiner == nullptr) {
    if (!read_process(process, where, record.cursor, bytes)) return false;
    record.cursor.pass(bytes, [](std::span<const std::byte>) {});
    record.moved += bytes;
    return true;
  }
  copied_.resize(kVisibleBytes);
  const Piece piece{copied_.data(), bytes};
  if (!read_process(process, where, Cursor{{&piece, 1}}, bytes)) return false;
  record.deliver({copied_.data(), bytes});
  return true;
}

// Either the sender sees that this rank writes, and waits in its abort, or this rank sees that the
// sender has failed.
std::byte* DirectCopies::open_result(AccessId access, std::uint32_t ordinal, std::size_t bytes) {
  Record& record = records_.find(access);
  expects(record.is_accessed && !record.is_storing, "a result is stored once");
  const Peer& peer = peers_.of(record.transfer);
  const Range& result = record.in_place.result;
  if (record.in_place.ordinal != ordinal || result.bytes != bytes ||
      !peer.member->mapping->holds(result.where, bytes))
    return nullptr;
  std::atomic<std::uint32_t>& storing = peer.consumed_here->storing;
  storing.fetch_add(1, std::memory_order_seq_cst);
  record.is_storing = Peers::may_access(peer);
  if (record.is_storing) return peer.member->mapping->base() + result.where;
  storing.fetch_sub(1, std::memory_order_release);
  return nullptr;
}

void DirectCopies::signal(AccessId access, bool is_stored) {
  Record& record = records_.find(access);
  expects(record.is_accessed && (record.is_storing || !is_stored),
          "an access ends once, with the result that was stored");
  Peer& peer = peers_.of(record.transfer);
  if (record.is_storing) peer.consumed_here->storing.fetch_sub(1, std::memory_order_release);
  // A result of undefined bytes is undefined. This ends in an error soon.
  while (!Peers::may_access(peer)) {
    peers_.failure_signal().check();
    Peers::report_end(peer, Peers::kGaveUp);
    std::this_thread::yield();
  }
  outgoing_.send_reply(
      peer,
      {.kind = SlotType::done, .peer_id = record.peer_id, .id = record.id, .is_stored = is_stored});
  records_.release(record);
  peers_.wake(peer);
}

// Other ranks write into this rank's pieces only after they have announced it and checked that they
// still may. This rank has stopped writing into theirs.
bool DirectCopies::stop() noexcept {
  peers_.forbid_access();
  for (Record& record : records_.all())
    if (record.in_use && std::exchange(record.is_storing, false))
      peers_[record.transfer.peer].consumed_here->storing.fetch_sub(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Duration deadline = Peers::now() + kPatience;
  const auto is_storing = [](const Peer& peer) {
    return peer.consumed_there != nullptr &&
           peer.consumed_there->storing.load(std::memory_order_acquire) != 0;
  };
  while (std::ranges::any_of(peers_.all(), is_storing)) {
    if (Peers::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tutti::shm
