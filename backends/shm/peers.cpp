#include "peers.hpp"

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::shm {

Peers::Peers(std::shared_ptr<Domain> domain, std::uint64_t communicator,
             std::span<const Rank> members, std::shared_ptr<FailureSignal> failure_signal,
             const Options& options)
    : domain_{std::move(domain)}, communicator_{communicator},
      failure_signal_{std::move(failure_signal)}, options_{options}, block_{domain_->open(
                                                                         communicator, members)},
      entry_{find_entry(*domain_->own().front, communicator)}, peers_(members.size()) {
  const Domain::Member& own = domain_->own();
  for (std::size_t i = 0; i < members.size(); ++i) {
    Peer& peer = peers_[i];
    peer.rank = static_cast<Rank>(i);
    peer.member = domain_->find(members[i]);
    if (members[i] == own.rank) self_ = peer.rank;
    if (peer.member != nullptr) peer.out = SendEnd{queue_of(*own.mapping, block_, i)};
    // Both must want it, since a rank that waits for a slower one gains nothing.
    peer.reads_process = options.reads_processes && peer.member != nullptr &&
                         own.front->process.id != 0 && peer.member->front->process.id != 0;
  }
}

Peer& Peers::of(const Transfer& transfer) {
  expects(transfer.peer >= 0 && transfer.peer < size(), "a transfer names no rank of the group");
  Peer& peer = (*this)[transfer.peer];
  expects(peer.member != nullptr, "a transfer names a rank of another host");
  return peer;
}

void Peers::attach(Peer& peer) {
  const bool is_new = peer.entry == nullptr;
  if (is_new) peer.entry = find_entry(*peer.member->front, communicator_);
  if (peer.entry == nullptr) return;
  const auto own = static_cast<std::size_t>(self_);
  const std::uint64_t theirs = peer.entry->block.load(std::memory_order_relaxed);
  if (is_new) {
    const auto index = static_cast<std::size_t>(peer.rank);
    peer.consumed_here = consumed_of(*domain_->own().mapping, block_, index);
    peer.consumed_there = consumed_of(*peer.member->mapping, theirs, own);
    peer.out.attach(peer.consumed_there);
  }
  QueueMemory queue = queue_of(*peer.member->mapping, theirs, own);
  queue.consumed = peer.consumed_here;
  if (queue.slots != nullptr) peer.in = ReceiveEnd{queue};
}

void Peers::open_queue(Peer& peer, QueuePart part) {
  const Mapping& own = *domain_->own().mapping;
  const auto index = static_cast<std::size_t>(peer.rank);
  const QueueMemory queue = queue_of(own, block_, index);
  const Sizes sizes{queue.slot_count, queue.byte_count};
  const std::uint64_t offset = domain_->extend(communicator_, bytes_of(sizes, part));
  set_queue_part(own, block_, index, part, offset);
  peer.out.open(queue_of(own, block_, index));
}

WindowMemory Peers::open_window() {
  const Mapping& own = *domain_->own().mapping;
  set_window(own, block_, domain_->extend(communicator_, window_bytes(own, block_)));
  return window_of(own, block_);
}

std::span<const std::byte> Peers::staged_bytes(Peer& peer, const WindowPiece& piece) {
  if (peer.window.data == nullptr)
    peer.window =
        window_of(*peer.member->mapping, peer.entry->block.load(std::memory_order_relaxed));
  if (piece.index >= kWindowPieces || piece.bytes > peer.window.piece_bytes) throw nonsense();
  return {peer.window.data + piece.index * peer.window.piece_bytes, piece.bytes};
}

void copy_to_shared(Peer& peer, Cursor& cursor, std::byte* to, std::uint64_t bytes) {
  switch (peer.copy_tuner.choose(bytes)) {
    case CopyTuner::Copy::plain: return cursor.read(to, bytes);
    case CopyTuner::Copy::past: cursor.stream(to, bytes); return end_streams();
    case CopyTuner::Copy::timed: break;
  }
  const Duration began = Peers::now();
  cursor.read(to, bytes);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // waits for the stores
  peer.copy_tuner.add_time(bytes, Peers::now() - began);
}

// Either this rank sees that the peer sleeps, or the peer sees, before it sleeps, what this rank
// has written. The word changes, so that a peer that is about to sleep does not.
void Peers::wake_surely(const Peer& peer) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Entry* const entry =
      peer.entry != nullptr ? peer.entry : find_entry(*peer.member->front, communicator_);
  if (entry != nullptr && is_asleep(*entry)) wake_sleeper(*entry);
}

void Peers::wake_sleeper(Entry& entry) noexcept {
  entry.asleep.store(0, std::memory_order_relaxed);
  syscall(SYS_futex, &entry.asleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Peers::wait_for_wake() noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(options_.idle_wait);
  const timespec limit{.tv_sec = seconds.count(),
                       .tv_nsec = (options_.idle_wait - seconds).count()};
  syscall(SYS_futex, &entry_->asleep, FUTEX_WAIT, 1, &limit, nullptr, 0);
}

void Peers::end_sleep() noexcept {
  wake_sleeper(*entry_);
}

// A rank that destroyed the communicator sends nothing more. All its messages are in the queue, so
// a message that is missing will never come. A failure elsewhere may be the reason.
void Peers::check_end(Peer& peer) {
  const std::uint32_t state = peer.entry->state.load(std::memory_order_acquire);
  if (state == Entry::open) return;
  if (!peer.in.attached()) attach(peer);
  if (peer.in.has_slot() || !peer.pulls.empty()) return;
  report_end(peer, state == Entry::closed ? "has destroyed its end of the communicator" : kGaveUp);
}

// Waits for the failure signal of the control plane, which sees all processes, may know the cause,
// and gives all ranks the same one.
void Peers::report_end(Peer& peer, const char* reason) {
  if (peer.suspected == Duration::zero()) peer.suspected = now();
  if (now() - peer.suspected < kSignalPatience) return;
  throw Error{ErrorCode::peer_dead, "rank " + std::to_string(peer.rank) + " " + reason, peer.rank};
}

// The fence orders the load after the reads of the peer's memory.
bool Peers::may_access(const Peer& peer) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return peer.entry->state.load(std::memory_order_seq_cst) == Entry::open;
}

}  // namespace tutti::shm
