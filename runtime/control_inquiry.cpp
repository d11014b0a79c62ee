// How far others have got, for a rank that waits for them in vain.
#include "control_state.hpp"

namespace tutti::runtime {

Whereabouts ControlState::inquire(std::uint64_t communicator, Rank rank, Duration patience) {
  using State = Whereabouts::State;
  std::unique_lock lock{mutex_};
  ControlPeer* const peer = find(rank);
  if (peer == nullptr) return {State::unknown};
  if (peer->is_dead()) return {State::dead};
  if (!peer->is_here()) return {State::left};
  const std::uint64_t question = ++last_question_;
  questions_[question] = std::nullopt;
  peer->say(encode(
      {.kind = ControlMessage::Kind::question, .communicator = communicator, .number = question}));
  wake();
  answered_.wait_for(lock, patience, [&] { return questions_[question] || !peer->is_here(); });
  const std::optional<std::uint64_t> begun = questions_[question];
  questions_.erase(question);
  if (!begun && peer->is_here()) return {State::silent};
  if (!begun) return {peer->is_dead() ? State::dead : State::left};
  if (*begun == kNoCommunicator) return {State::absent};
  return {State::there, *begun};
}

void ControlState::answer(ControlPeer& peer, const ControlMessage& question) {
  const auto found = communicators_.find(question.communicator);
  const bool is_there = found != communicators_.end() && !found->second.alarm.expired() &&
                        found->second.calls != nullptr;
  peer.say(encode({.kind = ControlMessage::Kind::answer,
                   .communicator = question.number,
                   .number = is_there ? found->second.calls->begun.load() : kNoCommunicator}));
}

void ControlState::note(const ControlMessage& answer) {
  const auto found = questions_.find(answer.communicator);
  if (found == questions_.end()) return;  // it came too late
  found->second = answer.number;
  answered_.notify_all();
}

}  // namespace tutti::runtime
