// Which messages may be folded where they lie, and which results may be stored at the peer's.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "program.hpp"

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
  Shortcuts(Program& program, const BoundRound& begin, const BoundRound& middle,
            const BoundRound& end)
      : program_{program}, begin_{begin}, middle_{middle}, end_{end} {}

  void find() {
    for (std::uint32_t i = begin_.messages; i < middle_.messages; ++i) {
      if (at(i).is_send) find_reply(at(i));
      else find_operand(at(i));
    }
    for (std::uint32_t i = middle_.messages; i < end_.messages; ++i)
      if (at(i).is_send) find_relay(at(i));
    for (std::uint32_t i = begin_.messages; i < middle_.messages; ++i)
      if (!is_answered(i)) at(i).shortcut.fold = kNoMessage;
  }

 private:
  BoundMessage& at(std::uint32_t index) { return program_.messages[index]; }
  [[nodiscard]] const Run& run(std::uint32_t index) const { return program_.runs[index]; }
  [[nodiscard]] std::span<const Run> runs_of(const BoundMessage& message) const {
    return std::span{program_.runs}.subspan(message.first_run, message.runs);
  }
  [[nodiscard]] std::span<const Run> operands_of(const BoundFold& fold) const {
    return std::span{program_.runs}.subspan(fold.first_operand, fold.operands);
  }
  [[nodiscard]] std::span<const BoundFold> folds() const {
    return std::span{program_.folds}.subspan(begin_.folds, middle_.folds - begin_.folds);
  }
  /// The message from or to a peer in [begin, end), or kNoMessage.
  [[nodiscard]] std::uint32_t find_message(std::uint32_t begin, std::uint32_t end, Rank peer,
                                           bool is_send) {
    for (std::uint32_t i = begin; i < end; ++i)
      if (at(i).peer == peer && at(i).is_send == is_send) return i;
    return kNoMessage;
  }

  void find_operand(BoundMessage& message) {
    if (message.fusing == Fusing::never || message.runs != 1) return;
    for (std::uint32_t i = begin_.folds; i < middle_.folds; ++i) {
      const std::span<const Run> operands = operands_of(program_.folds[i]);
      for (std::uint32_t k = 0; k < operands.size(); ++k)
        if (is_same(operands[k], run(message.first_run))) {
          message.shortcut.fold = i;
          message.shortcut.operand = k;
        }
    }
  }

  /// The peer reads what we send and writes what we receive next. Nobody else may read or write
  /// that until the next round, unless it is the same elements, which the peer reads and then
  /// writes one by one.
  void find_reply(BoundMessage& send) {
    const std::uint32_t next = find_message(middle_.messages, end_.messages, send.peer, false);
    if (next == kNoMessage || send.runs != 1 || at(next).runs != 1) return;
    const Run& place = run(at(next).first_run);
    if (place.base == Base::staging) return;
    Overlap worst = Overlap::none;
    const auto meet = [&](const Run& other) { worst = std::max(worst, overlap_of(place, other)); };
    for (std::uint32_t i = begin_.messages; i < middle_.messages; ++i)
      for (const Run& other : runs_of(at(i)))
        if (&at(i) != &send || !is_same_units(place, other)) meet(other);
    for (const BoundFold& fold : folds()) {
      meet(fold.destination);
      for (const Run& operand : operands_of(fold)) meet(operand);
    }
    if (worst == Overlap::always) return;
    send.shortcut.reply = next;
    send.shortcut.replying = worst == Overlap::none ? Fusing::always : Fusing::apart;
  }

  /// A send of what one fold of the round before has made.
  void find_relay(BoundMessage& send) {
    const std::uint32_t answered =
        find_message(begin_.messages, middle_.messages, send.peer, false);
    if (answered == kNoMessage || at(answered).shortcut.fold == kNoMessage || send.runs != 1)
      return;
    const std::uint32_t made = at(answered).shortcut.fold;
    // Nothing else of a round writes what a fold of it writes, so this is what it leaves there.
    if (!is_same(program_.folds[made].destination, run(send.first_run))) return;
    send.shortcut.relays = made;
    send.shortcut.answers = answered;
  }

  /// A message that is not answered is folded as well while it arrives.
  [[nodiscard]] bool is_answered(std::uint32_t index) const {
    return std::any_of(program_.messages.begin() + middle_.messages,
                       program_.messages.begin() + end_.messages,
                       [&](const BoundMessage& send) { return send.shortcut.answers == index; });
  }

  Program& program_;
  BoundRound begin_;
  BoundRound middle_;
  BoundRound end_;
};

}  // namespace

void find_shortcuts(Program& program) {
  std::map<std::pair<Rank, bool>, std::uint32_t> turns;
  for (BoundMessage& message : program.messages)
    message.shortcut.turn = turns[{message.peer, message.is_send}]++;
  BoundRound begin{0, 0, 0};
  for (std::size_t i = 0; i < program.rounds.size(); ++i) {
    const BoundRound& middle = program.rounds[i];
    const BoundRound& end = i + 1 < program.rounds.size() ? program.rounds[i + 1] : middle;
    Shortcuts{program, begin, middle, end}.find();
    begin = middle;
  }
}

}  // namespace tutti::inline v0::detail
