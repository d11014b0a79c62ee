// What is known of failures, and who is told.
#include "control_state.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/eventfd.h>

#include "descriptors.hpp"

namespace tutti::runtime {
namespace {

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
  report_early(made, id);
  for (const ControlPeer& peer : peers_)
    if (peer.is_dead()) report_death(made, id, peer);
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
  answered_.wait_for(lock, patience, [&] {
    return std::ranges::all_of(
        open, [&](const auto& inquiry) { return inquiries_.is_complete(inquiry); });
  });
  std::vector<CallStatus> found;
  for (const CallInquiries::Inquiry& inquiry : open) found.push_back(inquiries_.close(inquiry));
  return found;
}

void ControlState::answer(ControlPeer& peer, const ControlMessage& question) {
  const auto found = communicators_.find(question.communicator);
  const bool is_known = found != communicators_.end();
  peer.say(encode(answer_to(question, is_known ? found->second.calls.get() : nullptr,
                            is_known && found->second.failure_signal.expired())));
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
  if (message.kind == ControlMessage::Kind::last_call) inquiries_.keep_last_call(peer, message);
  if (message.kind == ControlMessage::Kind::question) answer(peer, message);
  if (message.kind == ControlMessage::Kind::answer) {
    inquiries_.keep_answer(message);
    answered_.notify_all();
  }
  const bool is_verdict = message.kind == ControlMessage::Kind::verdict;
  if (message.kind != ControlMessage::Kind::failure && !is_verdict) return;
  const auto found = communicators_.find(message.communicator);
  if (found == communicators_.end()) return early_.keep(peer.rank(), message);
  Communicator& communicator = found->second;
  if (!holds(communicator.members, peer.rank()) || !is_possible(message, communicator.members))
    throw Error{ErrorCode::transport, "it told of a failure that cannot be"};
  communicator.has_told[static_cast<std::size_t>(place_of(peer.rank(), communicator.members))] =
      true;
  if (is_verdict) conclude(communicator, message);
  else report(communicator, message);
}

void ControlState::report_early(Communicator& communicator, std::uint64_t id) {
  const std::optional<EarlyFailures::Early> early = early_.extract(id);
  if (!early || !is_possible(early->cause, communicator.members)) return;
  for (const Rank reporter : early->reporters) {
    if (!holds(communicator.members, reporter)) return;
    communicator.has_told[static_cast<std::size_t>(place_of(reporter, communicator.members))] =
        true;
  }
  if (early->cause.kind == ControlMessage::Kind::verdict) conclude(communicator, early->cause);
  else report(communicator, early->cause);
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
