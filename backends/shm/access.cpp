// Messages that stay in the sender's memory while the receiver works on them, and results that the
// receiver stores in the sender's memory.
#include <algorithm>
#include <thread>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// How long an abort waits for others that write into our memory. They do so for one fold at most.
constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

// Either the peer gave up before, and what it did with its memory since is not ours to see, or we
// have seen it as it was. The fence keeps the look behind what was read.
bool ShmTransport::may_touch(const Peer& peer) const noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return peer.entry->state.load(std::memory_order_seq_cst) == Entry::open;
}

void ShmTransport::leave(Peer& peer, std::uint32_t id, const Message& message, const Range& range) {
  Record& record = records_[id];
  record.is_left = true;
  record.in_place = message.in_place;
  --peer.awaited;
  complete({.cookie = record.transfer.cookie,
            .access = id,
            .data = peer.member->mapping->base() + range.where});
}

// Either the sender sees that we write, and waits with its abort, or we see that it has given up.
std::byte* ShmTransport::open_result(AccessId access, std::uint32_t ordinal, std::size_t bytes) {
  Record& record = record_of(access);
  expects(record.is_left && !record.is_storing, "a result is stored once");
  const Peer& peer = peer_of(record.transfer);
  const Range& result = record.in_place.result;
  if (record.in_place.ordinal != ordinal || result.bytes != bytes ||
      !peer.member->mapping->holds(result.where, bytes))
    return nullptr;
  std::atomic<std::uint32_t>& storing = peer.consumed_here->storing;
  storing.fetch_add(1, std::memory_order_seq_cst);
  record.is_storing = may_touch(peer);
  if (record.is_storing) return peer.member->mapping->base() + result.where;
  storing.fetch_sub(1, std::memory_order_release);
  return nullptr;
}

void ShmTransport::signal(AccessId access, bool is_stored) {
  Record& record = record_of(access);
  expects(record.is_left && (record.is_storing || !is_stored),
          "an access ends once, with what was stored");
  Peer& peer = peer_of(record.transfer);
  if (record.is_storing) peer.consumed_here->storing.fetch_sub(1, std::memory_order_release);
  // What was made of the message is worth nothing then. This ends in an error soon.
  while (!may_touch(peer)) {
    failure_signal_->check();
    suspect(peer, kGaveUp);
    std::this_thread::yield();
  }
  send_answer(peer, {Kind::done, record.theirs, access, is_stored});
  record.in_use = false;
  free_records_.push_back(access);
  if (crowded_) wake(peer);
}

// Others write into our pieces only where they said so before they looked whether they still may.
// We have stopped to write into theirs.
bool ShmTransport::abort(const Error& cause) noexcept {
  failure_signal_->raise(cause);
  if (domain_->segment().guard().is_forked()) return true;  // a child has none of the memory
  entry_->state.store(Entry::failed, std::memory_order_seq_cst);
  for (Record& record : records_)
    if (record.in_use && std::exchange(record.is_storing, false))
      peers_[static_cast<std::size_t>(record.transfer.peer)].consumed_here->storing.fetch_sub(
          1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Duration deadline = now() + kPatience;
  const auto is_storing = [](const Peer& peer) {
    return peer.consumed_there != nullptr &&
           peer.consumed_there->storing.load(std::memory_order_acquire) != 0;
  };
  while (std::ranges::any_of(peers_, is_storing)) {
    if (now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tutti::shm
