#include "call_inquiries.hpp"

#include "call_report.hpp"

namespace tutti::runtime {
namespace {

/// The number of latest calls that a process reports for each communicator when it leaves.
constexpr std::uint64_t kLastCalls = 8;
/// The number of ranks and communicators whose latest calls are kept.
constexpr std::size_t kMostLeft = 4096;

}  // namespace

CallInquiries::Inquiry CallInquiries::open(ControlPeer* peer, std::uint64_t communicator,
                                           std::uint64_t call) {
  Inquiry inquiry{.peer = peer, .communicator = communicator, .call = call};
  if (peer == nullptr || !peer->is_here()) return inquiry;
  inquiry.question = ++last_question_;
  questions_[inquiry.question] = std::nullopt;
  peer->say(encode({.kind = ControlMessage::Kind::question,
                    .communicator = communicator,
                    .number = inquiry.question,
                    .call = call}));
  return inquiry;
}

bool CallInquiries::is_complete(const Inquiry& inquiry) const {
  return inquiry.question == 0 || questions_.at(inquiry.question) || !inquiry.peer->is_here();
}

CallStatus CallInquiries::close(const Inquiry& inquiry) {
  using State = CallStatus::State;
  if (inquiry.peer == nullptr) return {};
  const auto question = questions_.extract(inquiry.question);
  if (!question.empty() && question.mapped()) {
    const ControlMessage& answer = *question.mapped();
    if (answer.number == kNoCommunicator) return {.state = State::absent};
    return decode_call_report(answer.number, answer.text);
  }
  if (inquiry.peer->is_dead()) return {.state = State::dead};
  if (inquiry.peer->is_here()) return {.state = State::silent};
  return last_call(inquiry);
}

CallStatus CallInquiries::last_call(const Inquiry& inquiry) const {
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

void CallInquiries::keep_answer(const ControlMessage& answer) {
  const auto found = questions_.find(answer.communicator);
  if (found == questions_.end()) return;
  if (answer.number !=
      kNoCommunicator)  // a malformed answer must throw here, as its sender's fault
    static_cast<void>(decode_call_report(answer.number, answer.text));
  found->second = answer;
}

void CallInquiries::keep_last_call(const ControlPeer& peer, const ControlMessage& message) {
  const std::pair key{peer.rank(), message.communicator};
  if (!last_calls_.contains(key) && last_calls_.size() >= kMostLeft) return;
  std::map<std::uint64_t, CallStatus>& calls = last_calls_[key];
  calls[message.call] = decode_call_report(message.number, message.text);
  if (calls.size() > kLastCalls) calls.erase(calls.begin());
}

ControlMessage answer_to(const ControlMessage& question, const CallCounter* calls, bool is_ended) {
  ControlMessage answer{.kind = ControlMessage::Kind::answer,
                        .communicator = question.number,
                        .number = kNoCommunicator};
  if (calls == nullptr) return answer;
  CallStatus status = calls->status_of(question.call);
  if (is_ended) status.state = CallStatus::State::ended;
  answer.text = encode_call_report(status);
  answer.number = status.begun;
  return answer;
}

std::vector<ControlMessage> last_calls(std::uint64_t communicator, const CallCounter& calls) {
  std::vector<ControlMessage> reports;
  const std::uint64_t begun = calls.status_of(0).begun;
  for (std::uint64_t call = begun < kLastCalls ? 1 : begun - kLastCalls + 1; call <= begun;
       ++call) {
    CallStatus status = calls.status_of(call);
    status.waits.clear();
    if (status.memory == CallStatus::Memory::known)
      reports.push_back({.kind = ControlMessage::Kind::last_call,
                         .communicator = communicator,
                         .text = encode_call_report(status),
                         .number = status.begun,
                         .call = call});
  }
  return reports;
}

}  // namespace tutti::runtime
