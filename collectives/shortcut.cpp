// Which messages may be combined where they lie, and which results may be stored at the peer's.
#include <algorithm>
#include <span>

#include "lower_messages.hpp"

namespace tutti::inline v0::detail {
namespace {

bool is_same(const Run& a, const Run& b) noexcept {
  return a.base == b.base && a.first == b.first && a.count == b.count && a.place == b.place;
}
/// Whether two runs are the same units of the vector.
bool is_same_units(const Run& a, const Run& b) noexcept {
  return a.first == b.first && a.count == b.count && a.base != Base::held && b.base != Base::held;
}

/// Looks at a round and the next one.
class Shortcuts {
 public:
  Shortcuts(Program& program, const LoweredRound& first, const LoweredRound& second, bool in_place)
      : program_{program}, first_{first}, second_{second}, in_place_{in_place} {}

  void find() {
    for (std::size_t i = 0; i < second_.operations.size(); ++i) {
      if (Shortcut* const own = shortcut_of(second_, i)) own->turn = second_.turns[i];
    }
    for (std::size_t i = 0; i < first_.operations.size(); ++i)
      if (first_.round.messages[i].is_send) find_reply(i);
    for (std::size_t i = 0; i < second_.operations.size(); ++i)
      if (second_.round.messages[i].is_send) find_answered(i);
  }

 private:
  [[nodiscard]] Shortcut* shortcut_of(const LoweredRound& round, std::size_t index) {
    if (round.operations[index] == kNoMessage) return nullptr;
    return &program_.shortcuts[program_.operations[round.operations[index]].message];
  }
  /// The message from or to a peer, if it is one run and one piece.
  [[nodiscard]] const RoundMessage* find_simple(const LoweredRound& round, Rank peer, bool is_send,
                                                std::size_t& index) const {
    for (index = 0; index < round.operations.size(); ++index) {
      const RoundMessage& message = round.round.messages[index];
      if (message.peer == peer && message.is_send == is_send)
        return is_simple(round, index) ? &message : nullptr;
    }
    return nullptr;
  }
  [[nodiscard]] bool is_simple(const LoweredRound& round, std::size_t index) const {
    return round.operations[index] != kNoMessage && round.round.messages[index].runs.size() == 1 &&
           program_.operations[round.operations[index]].pieces == 1;
  }

  /// The peer reads what we send and writes what we receive next. Nobody else may read or write
  /// that until the next round, unless it is the same elements, which the peer reads and then
  /// writes one by one.
  void find_reply(std::size_t index) {
    const RoundMessage& send = first_.round.messages[index];
    std::size_t next = 0;
    const RoundMessage* const received = find_simple(second_, send.peer, false, next);
    if (received == nullptr || !is_simple(first_, index)) return;
    const Run& place = received->runs.front();
    if (place.base == Base::arriving) return;
    const auto meets = [&](const Run& other) { return overlap(place, other, in_place_); };
    for (const RoundMessage& message : first_.round.messages)
      for (const Run& other : message.runs)
        if ((&message != &send || !is_same_units(place, other)) && meets(other)) return;
    for (const RoundFold& fold : first_.round.folds)
      if (meets(fold.destination) || std::ranges::any_of(fold.operands, meets)) return;
    shortcut_of(first_, index)->reply = program_.operations[second_.operations[next]].message;
  }

  /// A send of what the combination of one received message has made. Nothing else of a round
  /// writes what a fold of it writes, so this is what it leaves there.
  void find_answered(std::size_t index) {
    const RoundMessage& send = second_.round.messages[index];
    std::size_t received = 0;
    if (find_simple(first_, send.peer, false, received) == nullptr || !is_simple(second_, index))
      return;
    const Operation& combining = program_.operations[first_.operations[received]];
    const auto fold = std::ranges::find(first_.fused, received);
    // Several folds may be one combination, of which the send has only a part.
    if (combining.combinations != 1 || std::ranges::count(first_.fused, received) != 1) return;
    const auto which = static_cast<std::size_t>(fold - first_.fused.begin());
    if (!is_same(first_.round.folds[which].destination, send.runs.front())) return;
    shortcut_of(first_, received)->relay = program_.operations[second_.operations[index]].message;
    shortcut_of(second_, index)->answers = combining.message;
  }

  Program& program_;
  const LoweredRound& first_;
  const LoweredRound& second_;
  bool in_place_;
};

}  // namespace

void find_shortcuts(Program& program, const LoweredRound& first, const LoweredRound& second,
                    bool in_place) {
  Shortcuts{program, first, second, in_place}.find();
}

}  // namespace tutti::inline v0::detail
