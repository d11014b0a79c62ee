// What is known of failures, and who is told.
#include "control_state.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/eventfd.h>

#include "descriptors.hpp"

namespace tutti::runtime {
namespace {

constexpr std::size_t kMostEarly = 256;

bool holds(const std::vector<Rank>& members, Rank rank) {
  return std::ranges::find(members, rank) != members.end();
}

Rank place_of(Rank rank, const std::vector<Rank>& members) {
  return static_cast<Rank>(std::ranges::find(members, rank) - members.begin());
}

bool is_possible(const ControlMessage& failure, const std::vector<Rank>& members) {
  const auto size = static_cast<Rank>(members.size());
  return failure.culprit >= -1 && failure.culprit < size && failure.origin >= 0 &&
         failure.origin < size;
}

}  // namespace

ControlState::ControlState(Rank self, std::vector<Watched> peers,
                           const HeartbeatSettings& heartbeat,
                           std::shared_ptr<const ForkGuard> guard)
    : self_{self}, heartbeat_{heartbeat}, guard_{std::move(guard)}, bell_{eventfd(
                                                                        0, EFD_CLOEXEC |
                                                                               EFD_NONBLOCK)} {
  if (!bell_) throw_system_error("cannot make an event descriptor", errno);
  add(std::move(peers));
}

void ControlState::add(std::vector<Watched> peers) {
  const std::lock_guard lock{mutex_};
  const Clock::time_point now = Clock::now();
  for (Watched& watched : peers) {
    if (!watched.is_local) next_beat_ = std::min(next_beat_, now + heartbeat_.heartbeat);
    peers_.emplace_back(std::move(watched), now);
  }
  wake();
}

bool ControlState::reaches(Rank rank) {
  const std::lock_guard lock{mutex_};
  const ControlPeer* const peer = find(rank);
  return peer != nullptr && peer->is_here();
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
        if (const auto state = weak.lock()) state->tell(id, cause);
      },
      guard_);
  const std::lock_guard lock{mutex_};
  expects(holds(members, self_), "a process watches a communicator that it is no member of");
  forget_gone();
  Communicator& made = communicators_[id];
  expects(made.failure_signal.expired(), "two communicators have one number");
  if (world.empty()) world = members;
  made = {.members = std::move(members),
          .world = std::move(world),
          .failure_signal = failure_signal,
          .calls = std::move(calls)};
  made.has_told.resize(made.members.size());
  recall(made, id);
  for (const ControlPeer& peer : peers_)
    if (peer.is_dead()) report_death(made, id, peer);
  if (made.cause) wake();
  return failure_signal;
}

// So seldom that it costs nothing per communicator.
void ControlState::forget_gone() {
  if (communicators_.size() < most_communicators_) return;
  std::erase_if(communicators_,
                [](const auto& entry) { return entry.second.failure_signal.expired(); });
  most_communicators_ = 2 * communicators_.size() + 16;
}

// The first rank that is not known to be gone.
bool ControlState::leads(const Communicator& communicator) noexcept {
  for (const Rank member : communicator.members) {
    if (member == self_) return true;
    const ControlPeer* const peer = find(member);
    if (peer == nullptr) continue;  // nobody here watches it
    if (peer->is_here() && peer->cause().empty()) return false;
  }
  return false;
}

void ControlState::say(const Communicator& communicator, const ControlMessage& message) {
  const std::string bytes = encode(message);
  for (const Rank member : communicator.members)
    if (ControlPeer* const peer = find(member)) peer->say(bytes);
}

void ControlState::tell(std::uint64_t id, const Error& cause) {
  const std::lock_guard lock{mutex_};
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) return;
  Communicator& communicator = found->second;
  report(communicator, {.kind = ControlMessage::Kind::failure,
                        .communicator = id,
                        .code = cause.cause(),
                        .culprit = cause.culprit(),
                        .origin = place_of(self_, communicator.members),
                        .text = cause.what()});
  wake();  // for what could not be said at once, and for the verdict
}

// What is heard is passed on, and only later shown. So whatever a rank does because of a failure,
// such as to end, comes to no one as news before the failure does.
void ControlState::report(Communicator& communicator, const ControlMessage& failure) {
  if (communicator.is_over) return;
  if (!communicator.cause) communicator.first_word = Clock::now();
  else if (!precedes(failure, *communicator.cause)) return;
  communicator.cause = failure;
  communicator.cause->kind = ControlMessage::Kind::failure;
  say(communicator, *communicator.cause);
  next_verdict_ = std::min(next_verdict_, communicator.first_word + heartbeat_.gather_news);
}

void ControlState::report_death(Communicator& communicator, std::uint64_t id,
                                const ControlPeer& peer) {
  if (communicator.failure_signal.expired() || !holds(communicator.members, peer.rank())) return;
  const Rank rank = place_of(peer.rank(), communicator.members);
  if (communicator.has_told[static_cast<std::size_t>(rank)]) return;
  const Rank in_world = communicator.world[static_cast<std::size_t>(rank)];
  const std::string world =
      rank == in_world ? "" : "rank " + std::to_string(in_world) + " of the world, ";
  report(communicator, {.kind = ControlMessage::Kind::failure,
                        .communicator = id,
                        .code = ErrorCode::peer_dead,
                        .culprit = rank,
                        .origin = rank,
                        .text = "rank " + std::to_string(rank) + " (" + world + "host " +
                                peer.host() + ") " + peer.cause()});
}

void ControlState::lose(ControlPeer& peer, std::string cause) {
  peer.accuse(std::move(cause));
  for (auto& [id, communicator] : communicators_) report_death(communicator, id, peer);
  peer.lose();
  next_verdict_ = Clock::now();  // it may have been the one to give it
  answered_.notify_all();        // it will not answer any more
}

void ControlState::take(ControlPeer& peer, const ControlMessage& message) {
  if (message.kind == ControlMessage::Kind::goodbye) {
    peer.leave();
    next_verdict_ = Clock::now();  // it may have been the one to give it
    answered_.notify_all();        // it will not answer any more
  }
  if (message.kind == ControlMessage::Kind::last_call) keep_last_call(peer, message);
  if (message.kind == ControlMessage::Kind::question) answer(peer, message);
  if (message.kind == ControlMessage::Kind::answer) note(message);
  const bool is_verdict = message.kind == ControlMessage::Kind::verdict;
  if (message.kind != ControlMessage::Kind::failure && !is_verdict) return;
  const auto found = communicators_.find(message.communicator);
  if (found == communicators_.end()) return take_early(peer, message);
  Communicator& communicator = found->second;
  if (!holds(communicator.members, peer.rank()) || !is_possible(message, communicator.members))
    throw Error{ErrorCode::transport, "it told of a failure that cannot be"};
  communicator.has_told[static_cast<std::size_t>(place_of(peer.rank(), communicator.members))] =
      true;
  if (is_verdict) conclude(communicator, message);
  else report(communicator, message);
}

void ControlState::take_early(const ControlPeer& peer, const ControlMessage& message) {
  auto found = std::ranges::find(early_, message.communicator, &Early::communicator);
  if (found == early_.end()) {
    early_.push_back({message.communicator, message, {}});
    if (early_.size() > kMostEarly) early_.pop_front();
    found = std::prev(early_.end());
  }
  const auto is_verdict = [](const ControlMessage& said) {
    return said.kind == ControlMessage::Kind::verdict;
  };
  if (!is_verdict(found->cause) && (is_verdict(message) || precedes(message, found->cause)))
    found->cause = message;
  if (!holds(found->told_by, peer.rank())) found->told_by.push_back(peer.rank());
}

void ControlState::recall(Communicator& communicator, std::uint64_t id) {
  const auto found = std::ranges::find(early_, id, &Early::communicator);
  if (found == early_.end()) return;
  const Early early = std::move(*found);
  early_.erase(found);
  bool is_credible = is_possible(early.cause, communicator.members);
  for (const Rank teller : early.told_by) {
    is_credible = is_credible && holds(communicator.members, teller);
    if (!is_credible) return;
    communicator.has_told[static_cast<std::size_t>(place_of(teller, communicator.members))] = true;
  }
  if (early.cause.kind == ControlMessage::Kind::verdict) conclude(communicator, early.cause);
  else report(communicator, early.cause);
}

void ControlState::decide_cause(Clock::time_point now) {
  if (now < next_verdict_) return;
  next_verdict_ = Clock::time_point::max();
  for (auto& [id, communicator] : communicators_) {
    if (communicator.is_over || !communicator.cause) continue;
    const auto gathering =
        is_suspicion(*communicator.cause) ? heartbeat_.suspicion : heartbeat_.gather_news;
    const auto wait = leads(communicator) ? gathering : heartbeat_.verdict;
    if (now < communicator.first_word + wait) {
      next_verdict_ = std::min(next_verdict_, communicator.first_word + wait);
      continue;
    }
    conclude(communicator, *communicator.cause);
  }
}

// Said to all before it is shown, so that nobody need have heard it from the one who gave it.
void ControlState::conclude(Communicator& communicator, const ControlMessage& cause) {
  if (communicator.is_over) return;
  communicator.is_over = true;
  communicator.cause = cause;
  communicator.cause->kind = ControlMessage::Kind::verdict;
  say(communicator, *communicator.cause);
  if (const std::shared_ptr<FailureSignal> failure_signal = communicator.failure_signal.lock())
    failure_signal->set_cause(error_of(*communicator.cause));
}

}  // namespace tutti::runtime
