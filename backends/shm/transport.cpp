#include "transport.hpp"

#include <algorithm>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::shm {
namespace {

constexpr std::uint32_t kPollsPerLook = 256;
/// Polls from one look for communicators that were closed everywhere to the next.
constexpr std::uint32_t kPollsPerSweep = 1024;

}  // namespace

ShmTransport::ShmTransport(std::shared_ptr<Domain> domain, std::uint64_t communicator,
                           std::span<const Rank> members,
                           std::shared_ptr<FailureSignal> failure_signal, const Options& options)
    : domain_{std::move(domain)}, communicator_{communicator}, members_{members.begin(),
                                                                        members.end()},
      failure_signal_{std::move(failure_signal)}, capabilities_{.name = "shm",
                                                                .tags = 1u << 30,
                                                                .combines = true,
                                                                .visible = true,
                                                                .idle_spins = options.oversubscribed
                                                                                  ? 4
                                                                                  : 20000},
      crowded_{options.oversubscribed}, waits_idle_{options.oversubscribed},
      idle_wait_{options.idle_wait} {
  peers_.resize(members_.size());
  block_ = domain_->open(communicator, members);
  const Domain::Member& own = domain_->own();
  entry_ = find_entry(*own.front, communicator);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Peer& peer = peers_[i];
    peer.member = domain_->find(members_[i]);
    if (members_[i] == own.rank) self_ = static_cast<Rank>(i);
    if (peer.member != nullptr) peer.out = SendEnd{queue_of(*own.mapping, block_, i)};
  }
}

ShmTransport::~ShmTransport() {
  domain_->close(communicator_);
}

Duration ShmTransport::now() const noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// The other rank may make the communicator later than we do, and send later yet; until then we send
// what has room.
void ShmTransport::attach(Peer& peer) {
  const bool is_new = peer.entry == nullptr;
  if (is_new) peer.entry = find_entry(*peer.member->front, communicator_);
  if (peer.entry == nullptr) return;
  const auto own = static_cast<std::size_t>(self_);
  const std::uint64_t theirs = peer.entry->block.load(std::memory_order_relaxed);
  if (is_new) {
    const auto index = static_cast<std::size_t>(&peer - peers_.data());
    peer.consumed_here = consumed_of(*domain_->own().mapping, block_, index);
    peer.consumed_there = consumed_of(*peer.member->mapping, theirs, own);
    peer.out.attach(peer.consumed_there);
  }
  Queue queue = queue_of(*peer.member->mapping, theirs, own);
  queue.consumed = peer.consumed_here;
  if (queue.slots != nullptr) peer.in = ReceiveEnd{queue};
}

void ShmTransport::open_queue(Peer& peer, QueuePart part) {
  const Mapping& own = *domain_->own().mapping;
  const auto index = static_cast<std::size_t>(&peer - peers_.data());
  const Queue queue = queue_of(own, block_, index);
  const Sizes sizes{queue.slot_count, queue.byte_count};
  const std::uint64_t offset = domain_->extend(communicator_, bytes_of(sizes, part));
  set_queue_part(own, block_, index, part, offset);
  peer.out.open(queue_of(own, block_, index));
}

ShmTransport::Peer& ShmTransport::peer_of(const Transfer& transfer) {
  expects(transfer.peer >= 0 && transfer.peer < size(), "a transfer names no rank of the group");
  Peer& peer = peers_[static_cast<std::size_t>(transfer.peer)];
  expects(peer.member != nullptr, "a transfer names a rank of another host");
  return peer;
}

void ShmTransport::post(std::span<const Transfer> transfers) {
  if (failure_) throw Error{*failure_};
  failure_signal_->check();
  try {
    post_all(transfers);
  } catch (const Error& error) {
    failure_ = error;
    throw;
  }
}

void ShmTransport::post_all(std::span<const Transfer> transfers) {
  for (const Transfer& transfer : transfers)
    outgoing_ += transfer.kind == Transfer::Kind::send ? 1 : 0;
  is_alone_ = transfers.size() == 1 && records_.size() == free_records_.size();
  for (const Transfer& transfer : transfers) {
    const std::uint64_t bytes = bytes_of(transfer.pieces);
    Peer& peer = peer_of(transfer);
    if (transfer.kind == Transfer::Kind::send) post_send(peer, transfer, bytes);
    else post_receive(peer, transfer, bytes);
  }
  if (!waits_idle_) return;
  for (const Transfer& transfer : transfers) wake(peer_of(transfer));
}

void ShmTransport::poll() {
  if (failure_) throw Error{*failure_};
  failure_signal_->check();
  if (++polls_ % kPollsPerSweep == 0) domain_->free_closed();
  try {
    // What is done is told first: a short message is sent as it is posted.
    for (Peer& peer : completed() > 0 ? std::span<Peer>{} : std::span{peers_})
      if (!peer.idle()) progress(peer);
  } catch (const Error& error) {
    failure_ = error;
    throw;
  }
}

void ShmTransport::progress(Peer& peer) {
  if (!peer.in.attached()) {
    attach(peer);
    if (peer.entry == nullptr) return;
  }
  const std::uint64_t before = peer.out.sent() + peer.in.consumed();
  if (!peer.answers.empty() || !peer.waiting.empty()) send_waiting(peer);
  if (!peer.streams.empty()) send_chunks(peer);
  if (peer.awaited > 0) read_slots(peer);
  if (peer.awaited > 0 && ++peer.silent % kPollsPerLook == 0) look_for_end(peer);
  if (!peer.pushes.empty()) push_all(peer);
  if (!peer.pulls.empty()) pull_all(peer);
  if (waits_idle_ && peer.out.sent() + peer.in.consumed() != before) wake(peer);
}

// Either we see that the other side sleeps, or it sees what we have written before it does. The
// word changes, so that one that is about to sleep does not.
void ShmTransport::wake(Peer& peer) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Entry* const entry =
      peer.entry != nullptr ? peer.entry : find_entry(*peer.member->front, communicator_);
  if (entry == nullptr || entry->asleep.load(std::memory_order_relaxed) == 0) return;
  entry->asleep.store(0, std::memory_order_relaxed);
  syscall(SYS_futex, &entry->asleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void ShmTransport::idle_wait() {
  if (!waits_idle_) return std::this_thread::yield();
  entry_->asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_something_to_do()) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(idle_wait_);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (idle_wait_ - seconds).count()};
    syscall(SYS_futex, &entry_->asleep, FUTEX_WAIT, 1, &limit, nullptr, 0);
  }
  entry_->asleep.store(0, std::memory_order_relaxed);
}

void ShmTransport::end_idle_wait() noexcept {
  entry_->asleep.store(0, std::memory_order_relaxed);
  syscall(SYS_futex, &entry_->asleep, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

bool ShmTransport::has_something_to_do() {
  if (failure_ || failure_signal_->is_raised() || completed() > 0) return true;
  return std::ranges::any_of(peers_, [this](Peer& peer) {
    if (peer.idle()) return false;
    if (!peer.in.attached()) attach(peer);
    return peer.entry == nullptr || !peer.pulls.empty() ||
           (peer.awaited > 0 && peer.in.has_slot()) || may_send(peer);
  });
}

// A rank that destroyed the communicator sends nothing more. What it sent before is all there, so
// only what is missing then will never come. It may have done so because it heard of a failure.
void ShmTransport::look_for_end(Peer& peer) {
  const std::uint32_t state = peer.entry->state.load(std::memory_order_acquire);
  if (state == Entry::open) return;
  if (!peer.in.attached()) attach(peer);
  if (peer.in.has_slot() || !peer.pulls.empty()) return;
  suspect(peer, state == Entry::closed ? "has destroyed its end of the communicator" : kGaveUp);
}

// The alarm, which sees all processes, may know more of it, and tells all ranks the same. So it has
// the first word.
void ShmTransport::suspect(Peer& peer, const char* what) const {
  if (peer.suspected == Duration::zero()) peer.suspected = now();
  if (now() - peer.suspected < kSignalPatience) return;
  const auto rank = static_cast<Rank>(&peer - peers_.data());
  throw Error{ErrorCode::peer_dead, "rank " + std::to_string(rank) + " " + what, rank};
}

std::uint32_t ShmTransport::add_record(const Transfer& transfer, std::uint64_t bytes) {
  if (free_records_.empty()) {
    records_.emplace_back();
    free_records_.reserve(records_.size());
    free_records_.push_back(static_cast<std::uint32_t>(records_.size() - 1));
  }
  const std::uint32_t id = free_records_.back();
  free_records_.pop_back();
  Record& record = records_[id];
  record.transfer = transfer;
  record.bytes = bytes;
  record.moved = 0;
  record.cursor = Cursor{transfer.pieces};
  record.theirs = 0;
  record.is_exchanged = !is_alone_;
  record.in_use = true;
  record.is_streamed = false;
  record.is_left = false;
  record.is_storing = false;
  record.path = PayloadPath::stream;
  record.rest = {};
  return id;
}

ShmTransport::Record& ShmTransport::record_of(std::uint32_t id) {
  if (id >= records_.size() || !records_[id].in_use) throw nonsense();
  return records_[id];
}

void ShmTransport::finish(std::uint32_t id, bool is_stored) {
  if (records_[id].transfer.kind == Transfer::Kind::send) --outgoing_;
  complete({.cookie = records_[id].transfer.cookie, .is_stored = is_stored});
  records_[id].in_use = false;
  free_records_.push_back(id);
}

std::unique_ptr<Transport> Domain::transport(std::uint64_t communicator,
                                             std::span<const Rank> members,
                                             std::shared_ptr<FailureSignal> failure_signal,
                                             const Options& options) {
  return std::make_unique<ShmTransport>(shared_from_this(), communicator, members,
                                        std::move(failure_signal), options);
}

}  // namespace tutti::shm
