// The end of a round in the symbolic execution: its steps change the slots.
#include "verify_flow.hpp"

#include "verify_slots.hpp"

namespace tutti::verifying {

void DataFlow::finish_round(std::size_t rank) {
  const auto steps = steps_of(rank);
  // No step of a round writes the source of a local step, so only Finish needs an order.
  fold(rank, steps);
  for (std::size_t index = 0; index < steps.size() && report_->empty(); ++index)
    if (steps[index].kind() == Step::Kind::recv || steps[index].kind() == Step::Kind::copy)
      move(rank, steps[index], index);
  for (const Step& step : steps)
    if (step.kind() == Step::Kind::finish && report_->empty()) complete(rank, step);
}

void DataFlow::fold(std::size_t rank, std::span<const Step> steps) {
  ++epoch_;
  fold_side(rank, steps, Side::left);
  fold_own(rank, steps);
  fold_side(rank, steps, Side::right);
  if (!report_->empty()) return;
  for (const Step& step : steps) {
    if (!is_fold(step.kind())) continue;
    const std::size_t cell = cell_of(step.slots(), units_);
    for (std::size_t i = 0; i < step.slots().count; ++i)
      cells_[states_[rank].cells + cell + i] = sums_[cell + i].rounded();
  }
}

void DataFlow::fold_side(std::size_t rank, std::span<const Step> steps, Side side) {
  for (std::size_t index = 0; index < steps.size(); ++index) {
    const Step& step = steps[index];
    if (!is_fold(step.kind()) || step.side() != side) continue;
    const std::size_t cell = cell_of(step.slots(), units_);
    for (std::uint32_t i = 0; i < step.slots().count; ++i) {
      const Value operand = incoming_operand(rank, steps, index, i);
      if (!report_->empty()) return;
      accumulate(place(rank, step.slots(), i), cell + i, operand);
    }
  }
}

void DataFlow::fold_own(std::size_t rank, std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (!is_fold(step.kind())) continue;
    const std::size_t cell = cell_of(step.slots(), units_);
    for (std::uint32_t i = 0; i < step.slots().count; ++i) {
      if (own_epoch_[cell + i] == epoch_) continue;
      own_epoch_[cell + i] = epoch_;
      const Value own = read_or_report(rank, step.slots(), i);
      if (!report_->empty()) return;
      accumulate(place(rank, step.slots(), i), cell + i, own);
    }
  }
}

Value DataFlow::incoming_operand(std::size_t rank, std::span<const Step> steps, std::size_t step,
                                 std::uint32_t index) {
  if (steps[step].kind() == Step::Kind::reduce)
    return read_or_report(rank, steps[step].from(), index);
  const RankRound& state = states_[rank];
  return state.received[state.arrivals[step] + index];
}

void DataFlow::accumulate(const FindingPlace& place, std::size_t cell, Value operand) {
  if (!report_->empty()) return;
  if (operand.finished() && !idempotent_) {
    report_->add(CheckKind::finished_operand, place, "reduces a value that is already finished");
    return;
  }
  if (sum_epoch_[cell] != epoch_) {
    sum_epoch_[cell] = epoch_;
    sums_[cell] = operand;
    return;
  }
  const Value before = sums_[cell];
  const Value after = values_.combine(before, operand);
  sums_[cell] = after;
  if (!after.present()) {
    Rank twice = 0;
    while (!values_.contains(before, twice) || !values_.contains(operand, twice)) ++twice;
    report_->add(CheckKind::counted_twice, place,
                 "the contribution of rank " + std::to_string(twice) + " is counted twice");
  } else if (!after.ordered() && before.ordered() && operand.ordered() && first_disorder_.empty()) {
    first_disorder_ = text_of(place);
  }
}

void DataFlow::move(std::size_t rank, const Step& step, std::size_t index) {
  const RankRound& state = states_[rank];
  const std::size_t cell = state.cells + cell_of(step.slots(), units_);
  for (std::uint32_t i = 0; i < step.slots().count; ++i) {
    const Value value = step.kind() == Step::Kind::recv ? state.received[state.arrivals[index] + i]
                                                        : read_or_report(rank, step.from(), i);
    if (!report_->empty()) return;
    cells_[cell + i] = value;
  }
}

void DataFlow::complete(std::size_t rank, const Step& step) {
  const std::size_t cell = cell_of(step.slots(), units_);
  for (std::uint32_t i = 0; i < step.slots().count; ++i) {
    const Value value = read_or_report(rank, step.slots(), i);
    if (!report_->empty()) return;
    if (value.finished() && !idempotent_) {
      report_->add(CheckKind::finished_twice, place(rank, step.slots(), i),
                   "is finished a second time");
      return;
    }
    const bool folded = sum_epoch_[cell + i] == epoch_;
    cells_[states_[rank].cells + cell + i] =
        folded ? value.finished_in_fold() : value.finished_apart();
  }
}

}  // namespace tutti::verifying
