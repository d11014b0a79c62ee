// How far others have got, for a rank that waits for them in vain.
#include <algorithm>

#include "control_state.hpp"

namespace tutti::runtime {

std::vector<Whereabouts> ControlState::inquire(std::uint64_t communicator,
                                               std::span<const Rank> ranks, Duration patience) {
  std::unique_lock lock{mutex_};
  std::vector<Inquiry> inquiries;
  for (const Rank rank : ranks) {
    Inquiry& inquiry = inquiries.emplace_back(Inquiry{.peer = find(rank)});
    if (inquiry.peer == nullptr || !inquiry.peer->is_here()) continue;
    inquiry.question = ++last_question_;
    questions_[inquiry.question] = std::nullopt;
    inquiry.peer->say(encode({.kind = ControlMessage::Kind::question,
                              .communicator = communicator,
                              .number = inquiry.question}));
  }
  wake();
  answered_.wait_for(lock, patience, [&] {
    return std::ranges::none_of(inquiries, [this](const Inquiry& inquiry) {
      return inquiry.question != 0 && !questions_[inquiry.question] && inquiry.peer->is_here();
    });
  });
  std::vector<Whereabouts> found;
  for (const Inquiry& inquiry : inquiries) {
    found.push_back(outcome(inquiry));
    questions_.erase(inquiry.question);
  }
  return found;
}

Whereabouts ControlState::outcome(const Inquiry& inquiry) {
  using State = Whereabouts::State;
  if (inquiry.peer == nullptr) return {};
  const auto answer = questions_.find(inquiry.question);
  if (answer != questions_.end() && answer->second) {
    if (answer->second->number == kNoCommunicator) return {State::absent, 0, {}};
    return {State::there, answer->second->number, answer->second->text};
  }
  if (inquiry.peer->is_dead()) return {State::dead, 0, {}};
  return {inquiry.peer->is_here() ? State::silent : State::left, 0, {}};
}

void ControlState::answer(ControlPeer& peer, const ControlMessage& question) {
  const auto found = communicators_.find(question.communicator);
  const bool is_there = found != communicators_.end() && !found->second.alarm.expired() &&
                        found->second.calls != nullptr;
  peer.say(encode({.kind = ControlMessage::Kind::answer,
                   .communicator = question.number,
                   .text = is_there ? found->second.calls->latest() : "",
                   .number = is_there ? found->second.calls->begun() : kNoCommunicator}));
}

void ControlState::note(const ControlMessage& answer) {
  const auto found = questions_.find(answer.communicator);
  if (found == questions_.end()) return;  // it came too late
  found->second = answer;
  answered_.notify_all();
}

}  // namespace tutti::runtime
