// The failures of communicators, and the decisions about their causes.
#include "control_state.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/eventfd.h>

#include "runtime/sockets/descriptors.hpp"

namespace tutti::runtime {
namespace {

bool contains(const std::vector<Rank>& members, Rank rank) {
  return std::ranges::find(members, rank) != members.end();
}

Rank index_in(Rank rank, const std::vector<Rank>& members) {
  return static_cast<Rank>(std::ranges::find(members, rank) - members.begin());
}

bool is_valid(const ControlMessage& failure, const std::vector<Rank>& members) {
  const auto size = static_cast<Rank>(members.size());
  return failure.culprit >= -1 && failure.culprit < size && failure.origin >= 0 &&
         failure.origin < size;
}

}  // namespace

ControlState::ControlState(Rank self, std::vector<WatchedProcess> peers,
                           const HeartbeatSettings& heartbeat,
                           std::shared_ptr<const ForkGuard> guard)
    : self_{self}, heartbeat_{heartbeat}, guard_{std::move(guard)},
      wake_event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (!wake_event_) throw_system_error("cannot make an event descriptor", errno);
  add(std::move(peers));
}

void ControlState::add(std::vector<WatchedProcess> peers) {
  const std::lock_guard lock{mutex_};
  const Clock::time_point now = Clock::now();
  for (WatchedProcess& watched : peers) {
    if (!watched.is_local) next_heartbeat_ = std::min(next_heartbeat_, now + heartbeat_.interval);
    peers_.emplace_back(std::move(watched), now);
  }
  wake();
}

bool ControlState::reaches(Rank rank) {
  const std::lock_guard lock{mutex_};
  const ControlPeer* const peer = find(rank);
  return peer != nullptr && peer->is_connected();
}

ControlPeer* ControlState::find(Rank rank) noexcept {
  const auto found = std::ranges::find(peers_, rank, &ControlPeer::rank);
  return found == peers_.end() ? nullptr : &*found;
}

std::shared_ptr<FailureSignal> ControlState::watch(std::uint64_t id, std::vector<Rank> members,
                                                   std::shared_ptr<const CallCounter> calls,
                                                   std::vector<Rank> world) {
  guard_->check();
  auto failure_signal = std::make_shared<FailureSignal>(
      [weak = weak_from_this(), id](const Error& cause) {
        if (const auto state = weak.lock()) state->report_own(id, cause);
      },
      guard_);
  const std::lock_guard lock{mutex_};
  expects(contains(members, self_), "a process that watches a communicator must be a member of it");
  remove_expired();
  Communicator& made = communicators_[id];
  expects(made.failure_signal.expired(), "two communicators have one id");
  if (world.empty()) world = members;
  made = {.members = std::move(members),
          .world = std::move(world),
          .failure_signal = failure_signal,
          .calls = std::move(calls)};
  made.has_reported.resize(made.members.size());
  record_early(made, id);
  for (const ControlPeer& peer : peers_)
    if (peer.is_dead()) record_death(made, id, peer);
  if (made.cause) wake();
  return failure_signal;
}

std::vector<CallStatus> ControlState::inquire(std::uint64_t communicator,
                                              std::span<const Rank> ranks, std::uint64_t call,
                                              Duration patience) {
  std::unique_lock lock{mutex_};
  std::vector<CallInquiries::Inquiry> open;
  for (const Rank rank : ranks) open.push_back(inquiries_.open(find(rank), communicator, call));
  wake();
  reply_arrived_.wait_for(lock, patience, [&] {
    return std::ranges::all_of(
        open, [&](const auto& inquiry) { return inquiries_.is_complete(inquiry); });
  });
  std::vector<CallStatus> found;
  for (const CallInquiries::Inquiry& inquiry : open) found.push_back(inquiries_.close(inquiry));
  return found;
}

void ControlState::reply(ControlPeer& peer, const ControlMessage& inquiry) {
  const auto found = communicators_.find(inquiry.communicator);
  const bool is_known = found != communicators_.end();
  peer.send(encode(reply_to(inquiry, is_known ? found->second.calls.get() : nullptr,
                            is_known && found->second.failure_signal.expired())));
}

// Rare enough to cost nothing per communicator.
void ControlState::remove_expired() {
  if (communicators_.size() < cleanup_size_) return;
  std::erase_if(communicators_,
                [](const auto& entry) { return entry.second.failure_signal.expired(); });
  cleanup_size_ = 2 * communicators_.size() + 16;
}

// Whether this rank is the first one that is not known to have ended.
bool ControlState::is_leader(const Communicator& communicator) noexcept {
  for (const Rank member : communicator.members) {
    if (member == self_) return true;
    const ControlPeer* const peer = find(member);
    if (peer == nullptr) continue;  // this process does not watch it
    if (peer->is_connected() && peer->cause().empty()) return false;
  }
  return false;
}

void ControlState::send_to_members(const Communicator& communicator,
                                   const ControlMessage& message) {
  const std::string bytes = encode(message);
  for (const Rank member : communicator.members)
    if (ControlPeer* const peer = find(member)) peer->send(bytes);
}

void ControlState::report_own(std::uint64_t id, const Error& cause) {
  const std::lock_guard lock{mutex_};
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) return;
  Communicator& communicator = found->second;
  record(communicator, {.kind = ControlMessage::MessageType::failure,
                        .communicator = id,
                        .code = cause.cause(),
                        .culprit = cause.culprit(),
                        .origin = index_in(self_, communicator.members),
                        .text = shortened(cause.what())});  // equal on all ranks
  wake();  // for output that is left, and for the decision
}

// A report is forwarded before it is used. So no rank learns of a consequence of the failure, such
// as the end of a rank, before it learns of the failure.
void ControlState::record(Communicator& communicator, const ControlMessage& failure) {
  if (communicator.is_decided) return;
  if (!communicator.cause) communicator.first_report = Clock::now();
  else if (!precedes(failure, *communicator.cause)) return;
  communicator.cause = failure;
  communicator.cause->kind = ControlMessage::MessageType::failure;
  send_to_members(communicator, *communicator.cause);
  next_decision_ = std::min(next_decision_, communicator.first_report + heartbeat_.gather_time);
}

void ControlState::record_death(Communicator& communicator, std::uint64_t id,
                                const ControlPeer& peer) {
  if (communicator.failure_signal.expired() || !contains(communicator.members, peer.rank())) return;
  const Rank rank = index_in(peer.rank(), communicator.members);
  if (communicator.has_reported[static_cast<std::size_t>(rank)]) return;
  const Rank in_world = communicator.world[static_cast<std::size_t>(rank)];
  const std::string world =
      rank == in_world ? "" : "rank " + std::to_string(in_world) + " of the world, ";
  record(communicator, {.kind = ControlMessage::MessageType::failure,
                        .communicator = id,
                        .code = ErrorCode::peer_dead,
                        .culprit = rank,
                        .origin = rank,
                        .text = "rank " + std::to_string(rank) + " (" + world + "host " +
                                peer.host() + ") " + peer.cause()});
}

void ControlState::mark_dead(ControlPeer& peer, std::string cause) {
  peer.set_cause(std::move(cause));
  for (auto& [id, communicator] : communicators_) record_death(communicator, id, peer);
  peer.mark_dead();
  next_decision_ = Clock::now();  // the peer may have been the leader
  reply_arrived_.notify_all();    // the peer will not reply any more
}

void ControlState::handle(ControlPeer& peer, const ControlMessage& message) {
  if (message.kind == ControlMessage::MessageType::leave) {
    peer.mark_left();
    next_decision_ = Clock::now();  // the peer may have been the leader
    reply_arrived_.notify_all();    // the peer will not reply any more
  }
  if (message.kind == ControlMessage::MessageType::last_call)
    inquiries_.store_last_call(peer, message);
  if (message.kind == ControlMessage::MessageType::inquiry) reply(peer, message);
  if (message.kind == ControlMessage::MessageType::reply) {
    inquiries_.store_reply(message);
    reply_arrived_.notify_all();
  }
  const bool is_decision = message.kind == ControlMessage::MessageType::decision;
  if (message.kind != ControlMessage::MessageType::failure && !is_decision) return;
  const auto found = communicators_.find(message.communicator);
  if (found == communicators_.end()) return early_.store(peer.rank(), message);
  Communicator& communicator = found->second;
  if (!contains(communicator.members, peer.rank()) || !is_valid(message, communicator.members))
    throw Error{ErrorCode::transport, "it reported an impossible failure"};
  communicator.has_reported[static_cast<std::size_t>(index_in(peer.rank(), communicator.members))] =
      true;
  if (is_decision) decide(communicator, message);
  else record(communicator, message);
}

void ControlState::record_early(Communicator& communicator, std::uint64_t id) {
  const std::optional<EarlyFailures::EarlyFailure> early = early_.extract(id);
  if (!early || !is_valid(early->cause, communicator.members)) return;
  for (const Rank reporter : early->reporters) {
    if (!contains(communicator.members, reporter)) return;
    communicator.has_reported[static_cast<std::size_t>(index_in(reporter, communicator.members))] =
        true;
  }
  if (early->cause.kind == ControlMessage::MessageType::decision)
    decide(communicator, early->cause);
  else record(communicator, early->cause);
}

void ControlState::decide_cause(Clock::time_point now) {
  if (now < next_decision_) return;
  next_decision_ = Clock::time_point::max();
  for (auto& [id, communicator] : communicators_) {
    if (communicator.is_decided || !communicator.cause) continue;
    const auto gathering =
        is_suspicion(*communicator.cause) ? heartbeat_.suspicion_time : heartbeat_.gather_time;
    const auto wait = is_leader(communicator) ? gathering : heartbeat_.decision_timeout;
    if (now < communicator.first_report + wait) {
      next_decision_ = std::min(next_decision_, communicator.first_report + wait);
      continue;
    }
    decide(communicator, *communicator.cause);
  }
}

// The decision is sent before it is used, so that a rank need not get it from the leader itself.
void ControlState::decide(Communicator& communicator, const ControlMessage& cause) {
  if (communicator.is_decided) return;
  communicator.is_decided = true;
  communicator.cause = cause;
  communicator.cause->kind = ControlMessage::MessageType::decision;
  send_to_members(communicator, *communicator.cause);
  if (const std::shared_ptr<FailureSignal> failure_signal = communicator.failure_signal.lock())
    failure_signal->set_cause(error_of(*communicator.cause));
}

}  // namespace tutti::runtime
