// Messages that stay where their sender has them: combined there, and answered there.
#include "execution.hpp"

namespace tutti::inline v0::detail {

void Execution::place_shortcuts(Instance& instance) {
  const std::vector<Shortcut>& shortcuts = instance.program->shortcuts;
  for (std::size_t i = 0; i < shortcuts.size(); ++i) {
    Transfer& transfer = instance.transfers[i];
    transfer.may_lend = shortcuts[i].relay != kNoMessage;
    if (shortcuts[i].reply == kNoMessage) continue;
    const Piece& place = instance.transfers[shortcuts[i].reply].pieces.front();
    transfer.reply = {place.data, place.bytes, shortcuts[shortcuts[i].reply].turn};
  }
  if (shortcuts.empty()) return;
  operands_.resize(2);
  copies_.reserve(1);
}

/// What a rank does nothing with but receive it, where it belongs, may stay where it is.
void Execution::place_watched(Instance& instance) const {
  const Program& program = *instance.program;
  if (program.size() != 1 || instance.transfers.size() != 1) return;
  Transfer& only = instance.transfers.front();
  only.may_lend = only.kind == Transfer::Kind::recv && only.pieces.size() == 1 &&
                  program.pieces.front().place.base == Base::out;
}

void Execution::set_watch(Watch* watch) noexcept {
  watch_ = watch;
  is_ready_ = false;
  for (Instance& instance : instances_) instance.is_placed = false;
}

void Execution::resume() {
  for (Instance& instance : instances_)
    if (instance.is_waiting) go_on(instance);
}

/// Combines a message where its sender has it. That waits for nothing else, so it holds nobody up.
void Execution::use_loan(Instance& instance, std::uint32_t message, const Completion& completion) {
  if (watch_ != nullptr) return watch_->lent(instance.segment, completion);
  const Program& program = *instance.program;
  const Operation& operation = program.operations[program.messages[message]];
  const Combination& combination = program.combinations_of(operation).front();
  const std::span<const Place> places = program.operands_of(combination);
  if (operands_.size() < places.size()) operands_.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    operands_[i] = places[i].base == Base::arriving ? completion.lent : at(instance, places[i]);
  find_copies(instance, message, completion.loan);
  Fold fold = fold_of(combination);
  fold.destination = at(instance, combination.destination);
  fold.operands = std::span{operands_}.first(places.size());
  fold.copies = copies_;
  memory_.fold(fold);
  transport_.end_loan(completion.loan, !copies_.empty());
}

/// Whether the result goes back to the lender with the next message, and may be stored there.
void Execution::find_copies(Instance& instance, std::uint32_t message, LoanId loan) {
  copies_.clear();
  const std::uint32_t relay = instance.program->shortcuts[message].relay;
  const std::size_t bytes = instance.transfers[relay].pieces.front().bytes;
  std::byte* const copy = transport_.reply_to(loan, instance.program->shortcuts[relay].turn, bytes);
  if (copy == nullptr) return;
  copies_.push_back(copy);
  instance.pending[relay].is_replied = true;
}

}  // namespace tutti::inline v0::detail
