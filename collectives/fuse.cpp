// Which messages need not be staged: their bytes may be folded while they arrive, at any time
// between the start and the end of their round.
#include <algorithm>
#include <span>
#include <tuple>

#include "program.hpp"

namespace tutti::inline v0::detail {

Overlap overlap_of(const Run& a, const Run& b) noexcept {
  const bool ours = a.base == Base::held;
  if (a.base == Base::staging || b.base == Base::staging || ours != (b.base == Base::held))
    return Overlap::none;
  const std::uint32_t first_of_a = ours ? a.place : a.first;
  const std::uint32_t first_of_b = ours ? b.place : b.first;
  if (first_of_a >= first_of_b + b.count || first_of_b >= first_of_a + a.count)
    return Overlap::none;
  return a.base == b.base ? Overlap::always : Overlap::in_place;
}

namespace {

/// Looks at one round.
class Round {
 public:
  Round(Program& program, const BoundRound& begin, const BoundRound& end)
      : program_{program}, messages_{std::span{program.messages}.subspan(
                               begin.messages, end.messages - begin.messages)},
        folds_{std::span{program.folds}.subspan(begin.folds, end.folds - begin.folds)},
        first_message_{begin.messages} {}

  void fuse() {
    for (std::uint32_t i = 0; i < messages_.size(); ++i)
      if (!messages_[i].is_send) judge(i);
    std::stable_sort(folds_.begin(), folds_.end(), [this](const BoundFold& a, const BoundFold& b) {
      return key_of(a) < key_of(b);
    });
  }

 private:
  [[nodiscard]] std::span<const Run> runs_of(const BoundMessage& message) const {
    return std::span{program_.runs}.subspan(message.first_run, message.runs);
  }
  [[nodiscard]] std::span<const Run> operands_of(const BoundFold& fold) const {
    return std::span{program_.runs}.subspan(fold.first_operand, fold.operands);
  }

  /// The incoming operand, if it is the only one and of this message.
  [[nodiscard]] const Run* incoming(const BoundFold& fold, const BoundMessage& message) const {
    const std::span<const Run> operands = operands_of(fold);
    if (operands.size() != 2) return nullptr;
    for (const Run& operand : operands)
      if (operand.base == Base::staging && is_of(operand, message)) return &operand;
    return nullptr;
  }
  [[nodiscard]] bool is_of(const Run& staged, const BoundMessage& message) const {
    return std::ranges::any_of(runs_of(message), [&](const Run& run) {
      return run.base == Base::staging && run.place == staged.place;
    });
  }

  void judge(std::uint32_t index) {
    BoundMessage& message = messages_[index];
    std::uint32_t left = 0;  // units without a fold
    for (const Run& run : runs_of(message)) {
      if (run.base != Base::staging) return;
      left += run.count;
    }
    Fusing fusing = Fusing::always;
    for (const BoundFold& fold : folds_) {
      if (incoming(fold, message) == nullptr) continue;
      left -= fold.destination.count;
      fusing = std::min(fusing, fusing_of(fold));
    }
    if (left > 0 || fusing == Fusing::never) return;
    message.fusing = fusing;
    for (BoundFold& fold : folds_)
      if (incoming(fold, message) != nullptr) fold.message = first_message_ + index;
  }

  /// Whether a fold may happen at any time of the round.
  [[nodiscard]] Fusing fusing_of(const BoundFold& fold) const {
    Overlap worst = Overlap::none;
    const auto meet = [&](const Run& a, const Run& b) {
      worst = std::max(worst, overlap_of(a, b));
    };
    const auto written = [&](const Run& other) {
      meet(other, fold.destination);
      for (const Run& operand : operands_of(fold)) meet(other, operand);
    };
    for (const BoundMessage& message : messages_)
      for (const Run& run : runs_of(message)) {
        if (message.is_send) meet(run, fold.destination);
        else written(run);
      }
    for (const BoundFold& other : folds_) {
      if (&other == &fold) continue;
      written(other.destination);
      for (const Run& operand : operands_of(other)) meet(operand, fold.destination);
    }
    if (worst == Overlap::always) return Fusing::never;
    return worst == Overlap::none ? Fusing::always : Fusing::apart;
  }

  /// Those that are not fused keep their order; the others follow message by message.
  [[nodiscard]] std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t> key_of(
      const BoundFold& fold) const {
    if (fold.message == kNoMessage) return {false, 0, 0, 0};
    const Run& staged = *incoming(fold, program_.messages[fold.message]);
    return {true, fold.message, staged.place, staged.first};
  }

  Program& program_;
  std::span<BoundMessage> messages_;
  std::span<BoundFold> folds_;
  std::uint32_t first_message_;
};

}  // namespace

void fuse(Program& program) {
  BoundRound begin{0, 0, 0};
  for (const BoundRound& end : program.rounds) {
    Round{program, begin, end}.fuse();
    begin = end;
  }
}

}  // namespace tutti::inline v0::detail
