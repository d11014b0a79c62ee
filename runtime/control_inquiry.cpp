// How far others have got, for a rank that waits for them in vain.
#include <algorithm>

#include "call_report.hpp"
#include "control_state.hpp"

namespace tutti::runtime {

std::vector<Whereabouts> ControlState::inquire(std::uint64_t communicator,
                                               std::span<const Rank> ranks, std::uint64_t call,
                                               Duration patience) {
  std::unique_lock lock{mutex_};
  std::vector<Inquiry> inquiries;
  for (const Rank rank : ranks) {
    Inquiry& inquiry = inquiries.emplace_back(Inquiry{.peer = find(rank)});
    if (inquiry.peer == nullptr || !inquiry.peer->is_here()) continue;
    inquiry.question = ++last_question_;
    questions_[inquiry.question] = std::nullopt;
    inquiry.peer->say(encode({.kind = ControlMessage::Kind::question,
                              .communicator = communicator,
                              .number = inquiry.question,
                              .call = call}));
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
    if (answer->second->number == kNoCommunicator) return {.state = State::absent};
    return decode_call_report(answer->second->number, answer->second->text);
  }
  if (inquiry.peer->is_dead()) return {.state = State::dead};
  return {.state = inquiry.peer->is_here() ? State::silent : State::left};
}

void ControlState::answer(ControlPeer& peer, const ControlMessage& question) {
  const auto found = communicators_.find(question.communicator);
  ControlMessage answer{.kind = ControlMessage::Kind::answer,
                        .communicator = question.number,
                        .number = kNoCommunicator};
  if (found != communicators_.end() && found->second.calls != nullptr) {
    Whereabouts told = found->second.calls->tell(question.call);
    if (found->second.alarm.expired()) told.state = Whereabouts::State::ended;
    answer.text = encode_call_report(told);
    answer.number = told.begun;
  }
  peer.say(encode(answer));
}

void ControlState::note(const ControlMessage& answer) {
  const auto found = questions_.find(answer.communicator);
  if (found == questions_.end()) return;  // it came too late
  if (answer.number != kNoCommunicator)   // is it one? If not, its sender is given up here
    static_cast<void>(decode_call_report(answer.number, answer.text));
  found->second = answer;
  answered_.notify_all();
}

}  // namespace tutti::runtime
