// How far others have got, for a rank that waits for them in vain.
#include <algorithm>

#include "call_report.hpp"
#include "control_state.hpp"

namespace tutti::runtime {
namespace {

/// The number of latest calls that a process reports for each communicator when it leaves.
constexpr std::uint64_t kLastCalls = 8;
/// The number of ranks and communicators whose latest calls are kept.
constexpr std::size_t kMostLeft = 4096;

}  // namespace

std::vector<CallStatus> ControlState::inquire(std::uint64_t communicator,
                                              std::span<const Rank> ranks, std::uint64_t call,
                                              Duration patience) {
  std::unique_lock lock{mutex_};
  std::vector<Inquiry> inquiries;
  for (const Rank rank : ranks) {
    Inquiry& inquiry = inquiries.emplace_back(
        Inquiry{.peer = find(rank), .communicator = communicator, .call = call});
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
  std::vector<CallStatus> found;
  for (const Inquiry& inquiry : inquiries) {
    found.push_back(outcome(inquiry));
    questions_.erase(inquiry.question);
  }
  return found;
}

CallStatus ControlState::outcome(const Inquiry& inquiry) {
  using State = CallStatus::State;
  if (inquiry.peer == nullptr) return {};
  const auto answer = questions_.find(inquiry.question);
  if (answer != questions_.end() && answer->second) {
    if (answer->second->number == kNoCommunicator) return {.state = State::absent};
    return decode_call_report(answer->second->number, answer->second->text);
  }
  if (inquiry.peer->is_dead()) return {.state = State::dead};
  if (inquiry.peer->is_here()) return {.state = State::silent};
  return last_call(inquiry);
}

/// So that others that wait for this process in vain find out who differs, when it has left.
void ControlState::say_last_calls(std::uint64_t id, const Communicator& communicator) {
  if (communicator.calls == nullptr) return;
  const std::uint64_t begun = communicator.calls->tell(0).begun;
  for (std::uint64_t call = begun < kLastCalls ? 1 : begun - kLastCalls + 1; call <= begun;
       ++call) {
    CallStatus told = communicator.calls->tell(call);
    told.waits.clear();
    if (told.memory == CallStatus::Memory::known)
      say(communicator, {.kind = ControlMessage::Kind::last_call,
                         .communicator = id,
                         .text = encode_call_report(told),
                         .number = told.begun,
                         .call = call});
  }
}

void ControlState::keep_last_call(const ControlPeer& peer, const ControlMessage& message) {
  const std::pair whose{peer.rank(), message.communicator};
  if (!last_calls_.contains(whose) && last_calls_.size() >= kMostLeft) return;
  std::map<std::uint64_t, CallStatus>& calls = last_calls_[whose];
  calls[message.call] = decode_call_report(message.number, message.text);
  if (calls.size() > kLastCalls) calls.erase(calls.begin());
}

CallStatus ControlState::last_call(const Inquiry& inquiry) const {
  CallStatus left{.state = CallStatus::State::left};
  const auto found = last_calls_.find({inquiry.peer->rank(), inquiry.communicator});
  if (found == last_calls_.end()) return left;
  const auto& calls = found->second;
  left.begun = calls.rbegin()->second.begun;
  const auto call = calls.find(inquiry.call == 0 ? left.begun : inquiry.call);
  if (call != calls.end()) {
    left.memory = call->second.memory;
    left.fingerprint = call->second.fingerprint;
    left.words = call->second.words;
  } else if (inquiry.call < calls.begin()->first) {
    left.memory = CallStatus::Memory::forgotten;
  }
  return left;
}

void ControlState::answer(ControlPeer& peer, const ControlMessage& question) {
  const auto found = communicators_.find(question.communicator);
  ControlMessage answer{.kind = ControlMessage::Kind::answer,
                        .communicator = question.number,
                        .number = kNoCommunicator};
  if (found != communicators_.end() && found->second.calls != nullptr) {
    CallStatus told = found->second.calls->tell(question.call);
    if (found->second.failure_signal.expired()) told.state = CallStatus::State::ended;
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
