#include "rounds.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

/// The first step of a message, and one of its steps.
using StepOfMessage = std::pair<std::size_t, std::size_t>;

/// @return the steps with peers, grouped by message, in the order of the messages' first steps. It
/// sorts them, since a round may have a message to every rank.
std::vector<StepOfMessage> by_message(std::span<const Step> steps) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].has_peer()) order.push_back(i);
  const auto message_of = [&](std::size_t i) {
    return std::pair{steps[i].peer(), steps[i].kind() == Step::Kind::send};
  };
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair{message_of(i), i}; });
  std::vector<StepOfMessage> found;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const bool goes_on = at > 0 && message_of(order[at]) == message_of(order[at - 1]);
    found.emplace_back(goes_on ? found.back().first : order[at], order[at]);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

Rounds::Rounds(const Schedule& schedule, const Layout& layout, bool in_place,
               const Contributions* contributions)
    : schedule_{schedule}, layout_{layout}, contributions_{contributions}, slots_{schedule, layout,
                                                                                  in_place,
                                                                                  contributions} {}

/// Splits a local step so that in each part source and destination have one base each, and all
/// slots have equal contributions.
template <class Visit>
void Rounds::split_local(const Step& step, Visit visit) {
  const Slots from = step.from();
  const std::uint32_t shift = first_id(from);
  const std::uint32_t start = first_id(step.slots());
  const auto key = [&](std::uint32_t id) {
    const std::uint32_t read = id - start + shift;
    return std::tuple{slots_.home(id), slots_.source_base(from.space, read),
                      slots_.contributions_at(from.space, read)};
  };
  slots_.split(step.slots(), key, [&](const Slots& into) {
    visit(into,
          slots_.source({from.space, from.first + (into.first - step.slots().first), into.count}));
  });
}

Run Rounds::arrival(const Slots& slots, std::uint32_t contributions) {
  const Run run{Base::message, slots_.unit_of(first_id(slots)), slots.count,
                static_cast<std::uint32_t>(round_.arrivals.size()), contributions};
  round_.arrivals.push_back(run);
  return run;
}

Round Rounds::next() {
  const std::span<const Step> steps = schedule_.round(index_);
  round_ = {};
  slots_.begin(static_cast<std::uint32_t>(++index_), steps);
  add_messages(steps);
  add_local(steps);
  slots_.complete();
  add_finishes(steps);
  slots_.complete();
  return std::move(round_);
}

void Rounds::add_messages(std::span<const Step> steps) {
  for (const auto& [first, index] : by_message(steps)) {
    const Step& step = steps[index];
    const bool is_send = step.kind() == Step::Kind::send;
    if (first == index) round_.messages.push_back({.peer = step.peer(), .is_send = is_send});
    std::vector<Run>& runs = round_.messages.back().runs;
    if (!is_send) {
      add_receive(step, index, runs);
      continue;
    }
    slots_.split(
        step.slots(), [&](std::uint32_t id) { return slots_.source_base(step.slots().space, id); },
        [&](const Slots& part) { runs.push_back(slots_.source(part)); });
  }
}

void Rounds::add_receive(const Step& step, std::size_t index, std::vector<Run>& runs) {
  const std::uint32_t start = first_id(step.slots());
  const auto coming = [&](std::uint32_t id) {
    if (contributions_ == nullptr) return std::uint32_t{1};
    const auto number = static_cast<std::size_t>(&step - schedule_.steps().data());
    return contributions_->of(number)[id - start];
  };
  if (step.kind() == Step::Kind::recv_reduce) {
    slots_.split(step.slots(), coming, [&](const Slots& part) {
      runs.push_back(arrival(part, coming(first_id(part))));
      operands_.push_back({part, runs.back(), step.side(), index});
    });
    return;
  }
  // A message must not overwrite a slot that the round still reads.
  const auto key = [&](std::uint32_t id) {
    return std::tuple{slots_.home(id), slots_.is_read(id), coming(id)};
  };
  slots_.split(step.slots(), key, [&](const Slots& part) {
    const std::uint32_t id = first_id(part);
    const bool stays = !slots_.is_read(id);
    const Run target = slots_.destination(part, coming(id));
    runs.push_back(stays ? target : arrival(part, coming(id)));
    if (!stays) copies_.emplace_back(target, runs.back());
  });
}

void Rounds::add_local(std::span<const Step> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.kind() == Step::Kind::reduce)
      split_local(step, [&](const Slots& into, const Run& from) {
        operands_.push_back({into, from, step.side(), i});
      });
    if (step.kind() == Step::Kind::copy)
      split_local(step, [&](const Slots& into, const Run& from) {
        copies_.emplace_back(slots_.destination(into, from.contributions), from);
      });
  }
  add_folds();
  for (const auto& [target, from] : copies_)
    round_.folds.push_back({.destination = target, .operands = {from}});
  copies_.clear();
}

/// Operands with the same destination form a fold. If destinations overlap without being equal,
/// all are cut into single units first.
void Rounds::add_folds() {
  // So far they are ordered by peer, with those of local steps at the end.
  std::ranges::stable_sort(operands_, {}, &Operand::step);
  if (!are_disjoint_or_equal()) cut_operands();
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].into.count == 0) continue;
    const Slots into = operands_[i].into;
    const auto key = [&](std::uint32_t id) {
      return std::tuple{slots_.home(id), slots_.source_base(into.space, id), slots_.is_finished(id),
                        slots_.contributions_at(into.space, id)};
    };
    slots_.split(into, key, [&](const Slots& part) { add_fold(i, part); });
    for (std::size_t k = i + 1; k < operands_.size(); ++k)
      if (operands_[k].into == into) operands_[k].into.count = 0;
  }
  operands_.clear();
}

void Rounds::add_fold(std::size_t first, const Slots& part) {
  const Slots whole = operands_[first].into;
  const std::uint32_t id = first_id(part);
  RoundFold fold{.finish = slots_.is_finished(id)};
  const auto append = [&](Side side) {
    for (std::size_t k = first; k < operands_.size(); ++k) {
      if (!(operands_[k].into == whole) || operands_[k].side != side) continue;
      Run run = operands_[k].from;
      const std::uint32_t skip = part.first - whole.first;
      run.first += skip;
      run.count = part.count;
      if (run.base == Base::held) run.place += skip;
      fold.operands.push_back(run);
    }
  };
  append(Side::left);
  fold.operands.push_back(slots_.source(part));
  append(Side::right);
  for (std::uint32_t k = 0; k < part.count; ++k) slots_.set_folded(id + k);
  std::uint32_t all = 0;
  for (const Run& operand : fold.operands) all += operand.contributions;
  fold.destination = slots_.destination(part, contributions_ == nullptr ? 1 : all);
  round_.folds.push_back(std::move(fold));
}

bool Rounds::are_disjoint_or_equal() const {
  for (std::size_t i = 0; i < operands_.size(); ++i)
    for (std::size_t k = i + 1; k < operands_.size(); ++k) {
      const Slots &a = operands_[i].into, &b = operands_[k].into;
      if (a.space == b.space && !(a == b) && a.first < b.first + b.count &&
          b.first < a.first + a.count)
        return false;
    }
  return true;
}

void Rounds::cut_operands() {
  std::vector<Operand> cut;
  for (const Operand& operand : operands_)
    for (std::uint32_t k = 0; k < operand.into.count; ++k) {
      Run run = operand.from;
      run.count = 1;
      run.first += k;
      if (run.base == Base::held) run.place += k;
      cut.push_back(
          {{operand.into.space, operand.into.first + k, 1}, run, operand.side, operand.step});
    }
  operands_ = std::move(cut);
}

/// Adds folds for slots that the round finishes without folding into them. They read the slots as
/// the other steps of the round left them.
void Rounds::add_finishes(std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (step.kind() != Step::Kind::finish) continue;
    const auto key = [&](std::uint32_t id) {
      return std::tuple{slots_.home(id), slots_.source_base(step.slots().space, id),
                        slots_.is_folded(id), slots_.contributions_at(step.slots().space, id)};
    };
    slots_.split(step.slots(), key, [&](const Slots& part) {
      if (slots_.is_folded(first_id(part))) return;
      const Run from = slots_.source(part);
      round_.folds.push_back({.destination = slots_.destination(part, from.contributions),
                              .operands = {from},
                              .finish = true});
    });
  }
}

std::vector<RoundFold> Rounds::results() const {
  const Contract& contract = layout_.contract();
  std::vector<RoundFold> results;
  const auto is_missing = [&](std::uint32_t unit) { return !slots_.is_written(unit); };
  // In an all_to_all only one of the n * n blocks is both input and output of this rank.
  const bool is_pairs = is_between_pairs(contract.collective);
  const auto self = static_cast<std::uint32_t>(layout_.self());
  const std::uint32_t first = is_pairs ? self * static_cast<std::uint32_t>(contract.size + 1) : 0;
  const std::uint32_t last = is_pairs ? first + 1 : contract.blocks();
  for (std::uint32_t block = first; block < last; ++block) {
    if (!contract.wants_output(layout_.self(), block) || !contract.has_input(layout_.self(), block))
      continue;
    const std::uint32_t end = (block + 1) * slots_.parts();
    for (std::uint32_t unit = block * slots_.parts(); unit < end; ++unit) {
      if (!is_missing(unit)) continue;
      std::uint32_t next = unit + 1;
      while (next < end && is_missing(next)) ++next;
      results.push_back({.destination = {Base::out, unit, next - unit},
                         .operands = {{Base::in, unit, next - unit}}});
      unit = next;
    }
  }
  return results;
}

}  // namespace tutti::v0::detail
