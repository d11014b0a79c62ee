#include "transport.hpp"

#include <algorithm>
#include <thread>

namespace tutti::shm {
namespace {

/// Polls without a slot between two looks at the state of the peer.
constexpr std::uint32_t kPollsPerLook = 256;
/// Polls between two looks for communicators that all members have closed.
constexpr std::uint32_t kPollsPerSweep = 1024;

}  // namespace

ShmTransport::ShmTransport(std::shared_ptr<Domain> domain, std::uint64_t communicator,
                           std::span<const Rank> members,
                           std::shared_ptr<FailureSignal> failure_signal, const Options& options)
    : capabilities_{.name = "shm",
                    .tags = 1u << 30,
                    .combines = true,
                    .visible = true,
                    .shorter = true,
                    .idle_spins = options.oversubscribed ? 4 : 20000},
      waits_idle_{options.oversubscribed}, peers_{std::move(domain), communicator, members,
                                                  std::move(failure_signal), options} {}

void ShmTransport::check() const {
  if (failure_) throw Error{*failure_};
  peers_.failure_signal().check();
}

// Runs a function. Its first error becomes the failure of the transport.
template <class Work>
void ShmTransport::run(Work work) {
  try {
    work();
  } catch (const Error& error) {
    failure_ = error;
    throw;
  }
  unexpected_ = incoming_.unexpected();
}

void ShmTransport::post(std::span<const Transfer> transfers) {
  check();
  run([&] {
    records_.begin_post(transfers.size());
    for (const Transfer& transfer : transfers) {
      const std::uint64_t bytes = bytes_of(transfer.pieces);
      Peer& peer = peers_.of(transfer);
      if (transfer.kind == Transfer::Kind::send) outgoing_.post(peer, transfer, bytes);
      else incoming_.post(peer, transfer, bytes);
    }
    for (const Transfer& transfer : transfers) peers_.wake(peers_.of(transfer));
  });
}

void ShmTransport::poll() {
  check();
  if (++polls_ % kPollsPerSweep == 0) peers_.domain().free_closed();
  if (completed() > 0) return;  // consumed first: a short send completes when it is posted
  run([&] {
    for (Peer& peer : peers_.all())
      if (!peer.is_idle()) progress(peer);
  });
}

void ShmTransport::progress(Peer& peer) {
  if (!peer.in.attached()) {
    peers_.attach(peer);
    if (peer.entry == nullptr) return;
  }
  const std::uint64_t before = peer.out.sent() + peer.in.consumed();
  outgoing_.flush(peer);
  if (peer.awaited > 0) incoming_.read_slots(peer);
  if (peer.awaited > 0 && ++peer.silent % kPollsPerLook == 0) peers_.check_end(peer);
  copies_.progress(peer);
  if (peer.out.sent() + peer.in.consumed() != before) peers_.wake(peer);
}

void ShmTransport::expect_idle_waits() {
  waits_idle_ = true;
  peers_.expect_sleepers();
}

void ShmTransport::idle_wait() {
  if (!waits_idle_) return std::this_thread::yield();
  peers_.sleep([this] { return has_work(); });
}

bool ShmTransport::has_work() {
  if (failure_ || peers_.failure_signal().is_raised() || completed() > 0) return true;
  return std::ranges::any_of(peers_.all(), [this](Peer& peer) {
    if (peer.is_idle()) return false;
    if (!peer.in.attached()) peers_.attach(peer);
    return peer.entry == nullptr || DirectCopies::has_work(peer) ||
           (peer.awaited > 0 && peer.in.has_slot()) || outgoing_.may_send(peer);
  });
}

void ShmTransport::find_unmatched(std::uint64_t pending, bool thoroughly) {
  if (failure_ || peers_.domain().segment().guard().is_forked()) return;
  run([&] {
    for (Peer& peer : peers_.all()) {
      if (peer.member == nullptr) continue;
      if (thoroughly && !peer.in.attached()) peers_.attach(peer);
      incoming_.find_unmatched(peer, pending);
    }
  });
}

std::optional<Unexpected> ShmTransport::probe(Rank from, std::uint32_t tag) {
  check();
  std::optional<Unexpected> found;
  run([&] { found = incoming_.probe(from, tag); });
  return found;
}

bool ShmTransport::abort(const Error& cause) noexcept {
  peers_.failure_signal().raise(cause);
  if (peers_.domain().segment().guard().is_forked()) return true;  // a child has no mapping
  return copies_.stop();
}

std::unique_ptr<Transport> Domain::transport(std::uint64_t communicator,
                                             std::span<const Rank> members,
                                             std::shared_ptr<FailureSignal> failure_signal,
                                             const Options& options) {
  return std::make_unique<ShmTransport>(shared_from_this(), communicator, members,
                                        std::move(failure_signal), options);
}

}  // namespace tutti::shm
