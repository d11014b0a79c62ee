// Messages that stay in the sender's memory while the receiver works on them, and answers that the
// receiver puts into the sender's memory.
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

void ShmTransport::lend(Peer& peer, std::uint32_t id, const Message& message, const Range& range) {
  Record& record = records_[id];
  record.is_lent = true;
  record.lending = message.lending;
  --peer.awaited;
  done_.push_back({record.transfer.cookie, id, peer.member->mapping->base() + range.where});
}

// Either the lender sees that we write, and waits with its abort, or we see that it has given up.
std::byte* ShmTransport::reply_to(LoanId loan, std::uint32_t turn, std::size_t bytes) {
  Record& record = record_of(loan);
  expects(record.is_lent && !record.is_storing, "a loan is answered once");
  const Peer& peer = peer_of(record.transfer);
  const Range& reply = record.lending.reply;
  if (record.lending.turn != turn || reply.bytes != bytes ||
      !peer.member->mapping->holds(reply.where, bytes))
    return nullptr;
  std::atomic<std::uint32_t>& storing = peer.consumed_here->storing;
  storing.fetch_add(1, std::memory_order_seq_cst);
  record.is_storing = may_touch(peer);
  if (record.is_storing) return peer.member->mapping->base() + reply.where;
  storing.fetch_sub(1, std::memory_order_release);
  return nullptr;
}

void ShmTransport::end_loan(LoanId loan, bool replied) {
  Record& record = record_of(loan);
  expects(record.is_lent && (record.is_storing || !replied),
          "a loan ends once, as it was answered");
  Peer& peer = peer_of(record.transfer);
  if (record.is_storing) peer.consumed_here->storing.fetch_sub(1, std::memory_order_release);
  // What was made of the message is worth nothing then. This ends in an error soon.
  while (!may_touch(peer)) {
    alarm_->check();
    suspect(peer, kGaveUp);
    std::this_thread::yield();
  }
  send_answer(peer, {Kind::done, record.theirs, loan, replied});
  record.in_use = false;
  free_records_.push_back(loan);
  if (crowded_) wake(peer);
}

// Our message was answered where the answer belongs: its receive is done, or will be when posted.
void ShmTransport::take_reply(Peer& peer, const Record& send) {
  const Transfer& transfer = send.transfer;
  if (transfer.reply.data == nullptr) throw nonsense();
  const Message message{.tag = transfer.tag,
                        .fingerprint = transfer.fingerprint,
                        .bytes = transfer.reply.bytes,
                        .is_reply = true};
  const std::uint32_t id = find_receive(peer, transfer.tag);
  if (id == kNone) return keep(peer, message, {});
  meet(peer, records_[id], message);
  --peer.awaited;
  finish(id);
}

// Others write into our pieces only where they said so before they looked whether they still may.
// We have stopped to write into theirs.
bool ShmTransport::abort(const Error& cause) noexcept {
  alarm_->raise(cause);
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
