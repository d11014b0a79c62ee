#include "receives.hpp"

#include <algorithm>

namespace tutti::v0::detail {
namespace {

bool is_same(const Run& a, const Run& b) noexcept {
  return a.base == b.base && a.first == b.first && a.count == b.count && a.place == b.place;
}
/// Whether two runs are the same units of the vector.
bool is_same_units(const Run& a, const Run& b) noexcept {
  return a.first == b.first && a.count == b.count && a.base != Base::held && b.base != Base::held;
}

/// @return the message from or to a peer, or kNoMessage.
std::uint32_t find_message(const Round& round, Rank peer, bool is_send) {
  const auto found = std::ranges::find_if(round.messages, [&](const RoundMessage& message) {
    return message.peer == peer && message.is_send == is_send;
  });
  return found == round.messages.end() ? kNoMessage
                                       : static_cast<std::uint32_t>(found - round.messages.begin());
}

}  // namespace

/// A combination that waits for several messages blocks all their senders until the last message is
/// there. With LoweringOptions::lockstep all of them arrive; otherwise one of the senders might
/// have to wait for another.
Received Receives::decide(const Round& round, const Round& next) {
  find_uses(round);
  Received received{.messages = std::vector<Receiving>(round.messages.size(), Receiving::store),
                    .combined = std::vector<std::uint32_t>(round.folds.size(), kNoMessage),
                    .forwards = std::vector<std::uint32_t>(round.messages.size(), kNoMessage)};
  for (std::uint32_t i = 0; i < round.messages.size(); ++i) {
    const RoundMessage& message = round.messages[i];
    const MessageUse& use = uses_[i];
    std::uint32_t& forward = received.forwards[i];
    if (message.is_send) {
      if (lowering_.stores_results) forward = find_spared(round, message, next);
    } else if (use.is_staged && use.units == 0 && use.is_alone) {
      const bool waits = may_wait(message, use);
      if (waits && lowering_.stores_results) forward = find_answer(round, message, use, next);
      // If the result is not stored at the sender, waiting pays only if it spares stages.
      const bool spares = forward != kNoMessage || !use.is_only || !lowering_.stores_results;
      if (waits && spares) received.messages[i] = Receiving::wait;
      else if (lowering_.combines && use.has_two) received.messages[i] = Receiving::combine;
    }
  }
  for (std::size_t i = 0; i < round.folds.size(); ++i)
    for (const Run& operand : round.folds[i].operands)
      if (operand.base == Base::message &&
          received.messages[messages_[operand.place]] == Receiving::combine)
        received.combined[i] = messages_[operand.place];
  return received;
}

void Receives::find_uses(const Round& round) {
  uses_.assign(round.messages.size(), {});
  messages_.assign(round.arrivals.size(), kNoMessage);
  for (std::uint32_t i = 0; i < round.messages.size(); ++i)
    for (const Run& run : round.messages[i].runs) {
      uses_[i].units += run.count;
      if (run.base == Base::message) messages_[run.place] = i;
      else uses_[i].is_staged = false;
    }
  for (std::uint32_t i = 0; i < round.folds.size(); ++i) {
    const RoundFold& fold = round.folds[i];
    const auto coming = std::ranges::count(fold.operands, Base::message, &Run::base);
    if (coming == 0) continue;
    const bool alone = is_alone(round, fold);
    for (const Run& operand : fold.operands) {
      if (operand.base != Base::message) continue;
      MessageUse& use = uses_[messages_[operand.place]];
      use.units -= operand.count;
      ++use.folds;
      use.fold = i;
      use.is_alone = use.is_alone && alone;
      use.has_two = use.has_two && fold.operands.size() == 2 && coming == 1;
      use.is_only = use.is_only && coming == 1;
    }
  }
}

/// Whether a fold may run at any time of the round: no other fold or message writes what it
/// touches, or reads what it writes.
bool Receives::is_alone(const Round& round, const RoundFold& fold) const {
  const auto meets = [this](const Run& a, const Run& b) { return overlap(a, b, in_place_); };
  const auto is_touched_by_write = [&](const Run& written) {
    return meets(written, fold.destination) ||
           std::ranges::any_of(fold.operands, [&](const Run& own) { return meets(written, own); });
  };
  for (const RoundMessage& message : round.messages)
    for (const Run& run : message.runs)
      if (message.is_send ? meets(run, fold.destination) : is_touched_by_write(run)) return false;
  return std::ranges::none_of(round.folds, [&](const RoundFold& other) {
    if (&other == &fold) return false;
    return is_touched_by_write(other.destination) ||
           std::ranges::any_of(other.operands,
                               [&](const Run& read) { return meets(read, fold.destination); });
  });
}

bool Receives::may_wait(const RoundMessage& message, const MessageUse& use) const {
  return lowering_.visible && message.runs.size() == 1 && use.folds == 1 &&
         (use.is_only || lowering_.lockstep) &&
         homes_.units().bytes(message.runs[0].first, message.runs[0].count) >=
             lowering_.least_visible;
}

bool Receives::is_one_piece(const RoundMessage& message) const {
  return message.runs.size() == 1 && homes_.is_contiguous(message.runs[0]);
}

/// @return the message of the next round that returns the fold's result to the sender, and nothing
/// else, or kNoMessage. The fold is alone, so nothing else of this round writes that result.
std::uint32_t Receives::find_answer(const Round& round, const RoundMessage& message,
                                    const MessageUse& use, const Round& next) const {
  const Run& made = round.folds[use.fold].destination;
  const std::uint32_t answer = find_message(next, message.peer, true);
  if (answer == kNoMessage || !is_one_piece(next.messages[answer])) return kNoMessage;
  return is_same(next.messages[answer].runs[0], made) ? answer : kNoMessage;
}

/// @return the receive of the next round whose place the peer may store to, or kNoMessage. The peer
/// does so after it has read the sent message. So nothing else of this round may touch that place.
/// The message itself may lie there if it is the same elements: the peer reads each before it
/// writes it.
std::uint32_t Receives::find_spared(const Round& round, const RoundMessage& message,
                                    const Round& next) const {
  if (!lowering_.visible || !is_one_piece(message) ||
      homes_.units().bytes(message.runs[0].first, message.runs[0].count) < lowering_.least_visible)
    return kNoMessage;
  const std::uint32_t spared = find_message(next, message.peer, false);
  if (spared == kNoMessage || next.messages[spared].runs[0].base == Base::message ||
      !is_one_piece(next.messages[spared]))
    return kNoMessage;
  const Run& place = next.messages[spared].runs[0];
  const auto meets = [&](const Run& other) { return overlap(place, other, in_place_); };
  for (const RoundMessage& other : round.messages)
    for (const Run& run : other.runs)
      if ((&other != &message || !is_same_units(place, run)) && meets(run)) return kNoMessage;
  for (const RoundFold& fold : round.folds)
    if (meets(fold.destination) || std::ranges::any_of(fold.operands, meets)) return kNoMessage;
  return spared;
}

}  // namespace tutti::v0::detail
