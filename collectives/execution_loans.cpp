// Messages that stay where their sender has them: folded there, and answered there.
#include "execution.hpp"

namespace tutti::inline v0::detail {

void Execution::place_shortcuts(Lane& lane) {
  const std::vector<ResolvedMessage>& messages = lane.resolved.messages;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Shortcut& shortcut = messages[i].shortcut;
    lane.transfers[i].may_lend = shortcut.fold != kNoMessage && lane.transfers[i].sink != nullptr;
    const bool may_reply =
        shortcut.replying == Fusing::always || (shortcut.replying == Fusing::apart && !in_place_);
    if (!may_reply) continue;
    const ResolvedMessage& reply = messages[shortcut.reply];
    const Piece& place = lane.pieces[reply.first_piece];
    lane.transfers[i].reply = {place.data, place.bytes, reply.shortcut.turn};
  }
}

/// What a rank does nothing with but receive it, where it belongs, may stay where it is.
void Execution::place_watched(Lane& lane) const {
  if (lane.transfers.size() != 1 || !lane.resolved.folds.empty()) return;
  Transfer& only = lane.transfers.front();
  only.may_lend = only.kind == Transfer::Kind::recv && only.pieces.size() == 1 &&
                  lane.resolved.pieces.front().place.base == Base::out;
}

void Execution::set_watch(Watch* watch) noexcept {
  watch_ = watch;
  is_ready_ = false;
  for (Lane& lane : lanes_) lane.is_placed = false;
}

void Execution::resume() {
  for (Lane& lane : lanes_)
    if (lane.round == 0 && lane.outstanding == 0 && !lane.resolved.rounds.empty()) advance(lane);
}

/// Folds a message where its sender has it. That waits for nothing else, so it holds nobody up.
void Execution::use_loan(Lane& lane, std::uint32_t message, const Completion& completion) {
  if (watch_ != nullptr) return watch_->lent(lane.segment, completion);
  const Shortcut& shortcut = lane.resolved.messages[message].shortcut;
  const ResolvedFold& fold = lane.resolved.folds[shortcut.fold];
  if (operands_.size() < fold.operands) operands_.resize(fold.operands);
  for (std::uint32_t i = 0; i < fold.operands; ++i)
    operands_[i] = i == shortcut.operand ? completion.lent
                                         : at(lane, lane.resolved.operands[fold.first_operand + i]);
  find_copies(lane, message, completion.loan);
  memory_.fold({.type = binding_->type,
                .element_bytes = binding_->element_bytes,
                .op = &binding_->op,
                .destination = at(lane, fold.destination),
                .operands = std::span{operands_}.first(fold.operands),
                .count = fold.count,
                .divisor = divisor_of(fold),
                .copies = copies_});
  transport_.end_loan(completion.loan, !copies_.empty());
}

/// Whether the result goes back to the lender with the next message, and may be stored there.
void Execution::find_copies(Lane& lane, std::uint32_t message, LoanId loan) {
  copies_.clear();
  const Resolved& resolved = lane.resolved;
  for (const Transfer& transfer : messages_of(lane, lane.round + 1)) {
    const auto index = static_cast<std::size_t>(&transfer - lane.transfers.data());
    const Shortcut& shortcut = resolved.messages[index].shortcut;
    if (shortcut.answers != message) continue;
    const std::size_t bytes = resolved.folds[shortcut.relays].count * binding_->element_bytes;
    std::byte* const copy = transport_.reply_to(loan, shortcut.turn, bytes);
    if (copy == nullptr) return;
    copies_.push_back(copy);
    lane.pending[index].is_replied = true;
  }
}

}  // namespace tutti::inline v0::detail
