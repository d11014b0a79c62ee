#include "direct_copies.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace tutti::shm {
namespace {

/// The longest wait of an abort for others that write into our memory. They do so for one fold at
/// most.
constexpr std::chrono::milliseconds kPatience{100};
/// The receiver's part of a message that both copy, in sixteenths: the system reads quicker than it
/// writes, and the receiver begins first.
constexpr std::uint64_t kReadSixteenths = 9;
/// The parts of both meet at a page of the receiver's, so that no two cores write into one.
constexpr std::uint64_t kBorder = 4096;
/// Bytes that one poll reads from visible memory, so that deadlines and other messages are served.
constexpr std::uint64_t kVisibleBytes = std::uint64_t{256} << 10;
/// Bytes that one poll reads or writes through the system, each call of which takes 2 us beside the
/// 90 for a MiB.
constexpr std::uint64_t kProcessBytesAtOnce = std::uint64_t{4} << 20;

/// @return whether a message fits its ranges, which lie in the peer's segment if they are offsets.
bool are_valid(const Peer& peer, const Message& message, std::span<const Range> ranges) noexcept {
  std::uint64_t bytes = 0;
  for (const Range& range : ranges) {
    if (message.access != AccessMode::process &&
        !peer.member->mapping->holds(range.where, range.bytes))
      return false;
    if (range.bytes == 0 || range.bytes > message.bytes - bytes) return false;
    bytes += range.bytes;
  }
  return bytes == message.bytes;
}

}  // namespace

void DirectCopies::begin(Peer& peer, Record& record, const Message& message,
                         std::span<const Range> ranges) {
  if (!are_valid(peer, message, ranges)) throw nonsense();
  const bool waits = record.transfer.kind == Transfer::Kind::wait;
  if (message.access != AccessMode::process && waits && ranges.size() == 1) {
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
  pull.access = message.access;
  pull.ranges.assign(ranges.begin(), ranges.end());
  pull.range = 0;
  pull.offset = 0;
  if (record.path == PayloadPath::share) ask_for_share(peer, record, pull.ranges.front());
  peer.pulls.push_back(std::move(pull));
}

void DirectCopies::ask_for_share(Peer& peer, Record& record, Range& first) {
  const auto begin = reinterpret_cast<std::uint64_t>(record.transfer.pieces.front().data);
  const std::uint64_t border =
      (begin + record.bytes / 16 * kReadSixteenths + kBorder - 1) / kBorder * kBorder;
  first.bytes = border - begin;
  record.share = {border, record.bytes - first.bytes};
  outgoing_.send_reply(
      peer,
      {.kind = Kind::share, .peer_id = record.peer_id, .id = record.id, .share = record.share});
}

void DirectCopies::receive_share(Peer& peer, const Slot& slot) {
  const auto share = body_of<Share>(slot);
  Record& record = records_.find(slot.id);
  if (!record.is_send() || record.transfer.pieces.size() != 1 || record.is_streamed ||
      record.path == PayloadPath::share || share.destination.bytes == 0 ||
      share.destination.bytes > record.bytes)
    throw nonsense();
  record.path = PayloadPath::share;
  record.share = share.destination;
  record.peer_id = share.receiver;
  peer.pushes.push_back(&record);
}

void DirectCopies::push_all(Peer& peer) {
  for (std::size_t i = 0; i < peer.pushes.size();) {
    Record& record = *peer.pushes[i];
    const bool is_stored = push_some(peer, record);
    if (is_stored && record.share.bytes > 0) {
      ++i;
      continue;
    }
    record.share = {};
    peer.pushes.erase(peer.pushes.begin() + static_cast<std::ptrdiff_t>(i));
    outgoing_.send_reply(
        peer,
        {.kind = Kind::stored, .peer_id = record.peer_id, .id = record.id, .is_stored = is_stored});
  }
}

// Either the receiver sees that we write, and waits with its abort, or we see that it has given up.
// @return whether the system wrote, or may write later.
bool DirectCopies::push_some(Peer& peer, Record& record) {
  if (peer.member->process < 0) return false;
  const std::byte* const data = record.transfer.pieces.front().data + record.bytes;
  const std::uint64_t bytes = std::min(record.share.bytes, kProcessBytesAtOnce);
  std::atomic<std::uint32_t>& storing = peer.consumed_here->storing;
  storing.fetch_add(1, std::memory_order_seq_cst);
  const bool may = Peers::may_access(peer);
  const ssize_t put = may ? process_copies_.write(peer.member->process, record.share.where,
                                                  data - record.share.bytes, bytes)
                          : -1;
  const bool is_interrupted = may && put < 0 && errno == EINTR;
  storing.fetch_sub(1, std::memory_order_release);
  if (put <= 0) return is_interrupted;
  record.share.where += static_cast<std::uint64_t>(put);
  record.share.bytes -= static_cast<std::uint64_t>(put);
  return true;
}

// Where the sender could not write, we read those bytes too, and do not ask it again.
void DirectCopies::receive_stored(Peer& peer, const Slot& slot) {
  Record& record = records_.find(slot.id);
  const Range share = std::exchange(record.share, {});
  if (record.is_send() || share.bytes == 0) throw nonsense();
  if (body_of<Answer>(slot).is_stored != 0) {
    record.moved += share.bytes;
    return;
  }
  peer.may_share = false;
  const auto pull = std::ranges::find(peer.pulls, &record, &Pull::record);
  expects(pull != peer.pulls.end(), "a message that is shared is read, too");
  const Range& first = pull->ranges.front();
  pull->ranges.push_back({first.where + first.bytes, share.bytes});
}

void DirectCopies::pull_all(Peer& peer) {
  for (std::size_t i = 0; i < peer.pulls.size();) {
    Pull& pull = peer.pulls[i];
    Record& record = *pull.record;
    if (pull.range < pull.ranges.size()) pull_some(peer, pull);
    // Bytes of a rank that gave its memory back are undefined.
    const bool is_read = pull.range == pull.ranges.size();
    const bool is_undefined = is_read && !Peers::may_access(peer);
    if (is_undefined) Peers::report_end(peer, Peers::kGaveUp);
    if (is_undefined || record.moved < record.bytes) {
      ++i;
      continue;
    }
    --peer.awaited;
    spare_pulls_.push_back(std::move(pull));
    peer.pulls.erase(peer.pulls.begin() + static_cast<std::ptrdiff_t>(i));
    outgoing_.send_reply(peer, {.kind = Kind::done, .peer_id = record.peer_id, .id = record.id});
    records_.complete(record);
  }
}

void DirectCopies::pull_some(Peer& peer, Pull& pull) {
  const Range& range = pull.ranges[pull.range];
  const bool is_visible = pull.access != AccessMode::process;
  const std::uint64_t most = is_visible ? kVisibleBytes : kProcessBytesAtOnce;
  Range part{range.where + pull.offset, std::min(range.bytes - pull.offset, most)};
  if (is_visible) pull.record->deliver({peer.member->mapping->base() + part.where, part.bytes});
  else part.bytes = pull_from_process(peer, part, *pull.record);
  pull.offset += part.bytes;
  if (pull.offset < range.bytes) return;
  ++pull.range;
  pull.offset = 0;
}

std::size_t DirectCopies::pull_from_process(Peer& peer, const Range& range, Record& record) {
  const pid_t process = peer.member->process;
  const bool combines = record.transfer.combiner != nullptr;
  const Cursor before = record.cursor;
  Piece to = combines ? Piece{nullptr, range.bytes} : record.cursor.next(range.bytes);
  for (std::size_t read = 0; read < to.bytes;) {
    const ssize_t got =
        combines
            ? process_copies_.read_here(process, range.where, range.bytes, to.data)
            : process_copies_.read(process, range.where + read, to.data + read, to.bytes - read);
    if (got > 0) {
      read += static_cast<std::size_t>(got);
      if (combines) to.bytes = read;
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    const char* end = nullptr;
    // The memory of a process goes before others learn of its end, and a rank that has failed may
    // have given its own to the system.
    if (errno == ESRCH) end = "has ended, and its memory with it";
    else if (errno == EFAULT && !Peers::may_access(peer)) end = Peers::kGaveUp;
    if (end != nullptr) {
      Peers::report_end(peer, end);
      record.cursor = before;
      return 0;
    }
    throw Error{
        ErrorCode::transport,
        "cannot read the memory of rank " + std::to_string(peer.rank) + ": " + std::strerror(errno),
        peer.rank};
  }
  if (combines) record.deliver({to.data, to.bytes});
  else record.moved += to.bytes;
  return to.bytes;
}

// Either the sender sees that we write, and waits with its abort, or we see that it has given up.
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
      {.kind = Kind::done, .peer_id = record.peer_id, .id = record.id, .is_stored = is_stored});
  records_.release(record);
  peers_.wake(peer);
}

// Others write into our pieces only after they have announced it and checked that they still may.
// We have stopped to write into theirs.
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
