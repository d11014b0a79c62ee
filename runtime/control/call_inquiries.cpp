#include "call_inquiries.hpp"

#include "call_report.hpp"

namespace tutti::runtime {
namespace {

/// The number of latest calls that a process reports for each communicator when it leaves.
constexpr std::uint64_t kLastCalls = 8;
/// The number of ranks and communicators whose latest calls are kept.
constexpr std::size_t kMostStored = 4096;

}  // namespace

CallInquiries::Inquiry CallInquiries::open(ControlPeer* peer, std::uint64_t communicator,
                                           std::uint64_t call) {
  Inquiry inquiry{.peer = peer, .communicator = communicator, .call = call};
  if (peer == nullptr || !peer->is_connected()) return inquiry;
  inquiry.number = ++last_inquiry_;
  replies_[inquiry.number] = std::nullopt;
  peer->send(encode({.kind = ControlMessage::MessageType::inquiry,
                     .communicator = communicator,
                     .number = inquiry.number,
                     .call = call}));
  return inquiry;
}

bool CallInquiries::is_complete(const Inquiry& inquiry) const {
  return inquiry.number == 0 || replies_.at(inquiry.number) || !inquiry.peer->is_connected();
}

CallStatus CallInquiries::close(const Inquiry& inquiry) {
  if (inquiry.peer == nullptr) return {};
  const auto reply = replies_.extract(inquiry.number);
  if (!reply.empty() && reply.mapped()) {
    const ControlMessage& message = *reply.mapped();
    if (message.number == kNoCommunicator) return {.state = CallStatus::State::absent};
    return decode_call_report(message.number, message.text);
  }
  if (inquiry.peer->is_dead()) return {.state = CallStatus::State::dead};
  if (inquiry.peer->is_connected()) return {.state = CallStatus::State::silent};
  return last_call(inquiry);
}

CallStatus CallInquiries::last_call(const Inquiry& inquiry) const {
  CallStatus left{.state = CallStatus::State::left};
  const auto found = last_calls_.find({inquiry.peer->rank(), inquiry.communicator});
  if (found == last_calls_.end()) {
    if (last_calls_.size() >= kMostStored) left.memory = CallStatus::Memory::forgotten;
    return left;
  }
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

void CallInquiries::store_reply(const ControlMessage& reply) {
  const auto found = replies_.find(reply.communicator);
  if (found == replies_.end()) return;
  // A malformed reply must throw here, where its sender is known.
  if (reply.number != kNoCommunicator)
    static_cast<void>(decode_call_report(reply.number, reply.text));
  found->second = reply;
}

void CallInquiries::store_last_call(const ControlPeer& peer, const ControlMessage& message) {
  const std::pair key{peer.rank(), message.communicator};
  if (!last_calls_.contains(key) && last_calls_.size() >= kMostStored) return;
  std::map<std::uint64_t, CallStatus>& calls = last_calls_[key];
  calls[message.call] = decode_call_report(message.number, message.text);
  if (calls.size() > kLastCalls) calls.erase(calls.begin());
}

ControlMessage reply_to(const ControlMessage& inquiry, const CallCounter* calls, bool is_ended) {
  ControlMessage reply{.kind = ControlMessage::MessageType::reply,
                       .communicator = inquiry.number,
                       .number = kNoCommunicator};
  if (calls == nullptr) return reply;
  CallStatus status = calls->status_of(inquiry.call);
  if (is_ended) status.state = CallStatus::State::ended;
  reply.text = encode_call_report(status);
  reply.number = status.begun;
  return reply;
}

std::vector<ControlMessage> last_calls(std::uint64_t communicator, const CallCounter& calls) {
  std::vector<ControlMessage> reports;
  const std::uint64_t begun = calls.status_of(0).begun;
  for (std::uint64_t call = begun < kLastCalls ? 1 : begun - kLastCalls + 1; call <= begun;
       ++call) {
    CallStatus status = calls.status_of(call);
    status.waits.clear();
    if (status.memory == CallStatus::Memory::known)
      reports.push_back({.kind = ControlMessage::MessageType::last_call,
                         .communicator = communicator,
                         .text = encode_call_report(status),
                         .number = status.begun,
                         .call = call});
  }
  return reports;
}

}  // namespace tutti::runtime
