#include "rounds.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

/// A step of a message, behind the first one of that message.
using StepOfMessage = std::pair<std::size_t, std::size_t>;

/// The steps with peers by message, as first mentioned: sorted, since a round may have a message to
/// every rank.
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

bool overlap(const Run& a, const Run& b, bool in_place) noexcept {
  if (a.base == Base::message || b.base == Base::message) return false;
  const bool is_held = a.base == Base::held;
  if (is_held != (b.base == Base::held) || (a.base != b.base && !in_place)) return false;
  const std::uint32_t first_of_a = is_held ? a.place : a.first;
  const std::uint32_t first_of_b = is_held ? b.place : b.first;
  return first_of_a < first_of_b + b.count && first_of_b < first_of_a + a.count;
}

Rounds::Rounds(const Schedule& schedule, const Layout& layout, bool in_place,
               const Contributions* contributions)
    : schedule_{schedule}, layout_{layout}, in_place_{in_place}, contributions_{contributions},
      units_{schedule.units()}, parts_{schedule.units() / layout.contract().blocks()} {
  expects(parts_ * layout.contract().blocks() == units_,
          "units are a multiple of the collective's blocks");
  find_slots();
  find_held();
}

/// Calls visit(first, count) for the longest runs of `slots` whose slots agree in key(id).
template <class Key, class Visit>
void Rounds::split(const Slots& slots, Key key, Visit visit) {
  for (std::uint32_t first = 0; first < slots.count;) {
    const auto id = id_of(slots.space, slots.first + first);
    std::uint32_t end = first + 1;
    while (end < slots.count && key(id + end - first) == key(id)) ++end;
    visit(Slots{slots.space, slots.first + first, end - first});
    first = end;
  }
}

/// Splits a local step so that source and destination each have one base.
template <class Visit>
void Rounds::split_local(const Step& step, Visit visit) {
  const Slots from = step.from();
  const std::uint32_t shift = id_of(from.space, from.first);
  const std::uint32_t start = id_of(step.slots().space, step.slots().first);
  const auto key = [&](std::uint32_t id) {
    const std::uint32_t read = id - start + shift;
    return std::tuple{home(id), source_base(from.space, read), contributions_at(from.space, read)};
  };
  split(step.slots(), key, [&](const Slots& into) {
    visit(into, source({from.space, from.first + (into.first - step.slots().first), into.count}));
  });
}

/// Of all slots of the vector, which are n * n in an all_to_all, a rank names few.
void Rounds::find_slots() {
  std::vector<std::uint32_t> ids;
  const auto add = [&](const Slots& slots) {
    for (std::uint32_t k = 0; k < slots.count; ++k)
      ids.push_back(id_of(slots.space, slots.first + k));
  };
  for (const Step& step : schedule_.steps()) {
    expects(is_in_one_plane(step.slots()) && (step.has_peer() || is_in_one_plane(step.from())),
            "a run of slots stays in one plane");
    add(step.slots());
    if (step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy) add(step.from());
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const std::uint32_t id : ids) slots_.push_back({.id = id});
}

void Rounds::find_held() {
  for (const Step& step : schedule_.steps()) {
    if (step.kind() == Step::Kind::send) continue;
    for (std::uint32_t k = 0; k < step.slots().count; ++k) {
      const std::uint32_t id = id_of(step.slots().space, step.slots().first + k);
      if (home(id) == Base::held) held_.push_back(id);
    }
  }
  std::ranges::sort(held_);
  held_.erase(std::unique(held_.begin(), held_.end()), held_.end());
}

Rounds::Slot& Rounds::slot(std::uint32_t id) {
  return *std::ranges::lower_bound(slots_, id, {}, &Slot::id);
}

bool Rounds::is_written(std::uint32_t id) const {
  const auto found = std::ranges::lower_bound(slots_, id, {}, &Slot::id);
  return found != slots_.end() && found->id == id && found->written;
}

/// Where one slot is read from, as it stands before this round.
Base Rounds::source_base(Space space, std::uint32_t id) {
  const bool is_input = space == Space::in || (space == Space::out && !slot(id).written);
  if (!is_input) return home(id);
  expects(layout_.contract().has_input(layout_.self(), unit_of(id) / parts_),
          "a schedule reads only slots that hold something");
  return Base::in;
}

/// @return the contributions in one slot before this round.
std::uint32_t Rounds::contributions_at(Space space, std::uint32_t id) {
  if (contributions_ == nullptr || source_base(space, id) == Base::in) return 1;
  return slot(id).contributions;
}

/// Where one slot is written to.
Base Rounds::home(std::uint32_t id) const {
  const bool is_result =
      id < units_ && layout_.contract().wants_output(layout_.self(), unit_of(id) / parts_);
  return is_result ? Base::out : Base::held;
}

/// Whether this round reads what would be overwritten there.
bool Rounds::is_read(std::uint32_t id) {
  const Slot& own = slot(id);
  return own.read_at == stamp_ ||
         (in_place_ && own.input_read_at == stamp_ && home(id) == Base::out);
}

Run Rounds::run_at(Base base, std::uint32_t id, std::uint32_t count) const {
  std::uint32_t place = 0;
  if (base == Base::held) {
    const auto found = std::ranges::lower_bound(held_, id);
    expects(found != held_.end() && *found == id,
            "a schedule reads only scratch that it has written");
    place = static_cast<std::uint32_t>(found - held_.begin());
  }
  return {base, unit_of(id), count, place};
}

/// The run that `slots`, all of one base and as many contributions, is read from.
Run Rounds::source(const Slots& slots) {
  const std::uint32_t id = id_of(slots.space, slots.first);
  Run run = run_at(source_base(slots.space, id), id, slots.count);
  run.contributions = contributions_at(slots.space, id);
  return run;
}

/// The run that `slots`, all of one base, is written to.
Run Rounds::destination(const Slots& slots, std::uint32_t contributions) {
  const std::uint32_t id = id_of(slots.space, slots.first);
  for (std::uint32_t k = 0; k < slots.count; ++k) written_now_.emplace_back(id + k, contributions);
  Run run = run_at(home(id), id, slots.count);
  run.contributions = contributions;
  return run;
}

Run Rounds::arrival(const Slots& slots, std::uint32_t contributions) {
  const Run run{Base::message, unit_of(id_of(slots.space, slots.first)), slots.count,
                static_cast<std::uint32_t>(round_.arrivals.size()), contributions};
  round_.arrivals.push_back(run);
  return run;
}

bool Rounds::is_in_one_plane(const Slots& slots) const noexcept {
  return slots.count == 0 || slots.first / units_ == (slots.first + slots.count - 1) / units_;
}

Round Rounds::next() {
  const std::span<const Step> steps = schedule_.round(index_);
  stamp_ = static_cast<std::uint32_t>(++index_);
  round_ = {};
  for (const Step& step : steps) mark(step);
  add_messages(steps);
  add_local(steps);
  complete();
  add_finishes(steps);
  complete();
  return std::move(round_);
}

/// Notes what the round reads and finishes.
void Rounds::mark(const Step& step) {
  const auto reads = [this](const Slots& slots) {
    for (std::uint32_t k = 0; k < slots.count; ++k) {
      const std::uint32_t id = id_of(slots.space, slots.first + k);
      const bool is_input = source_base(slots.space, id) == Base::in;
      (is_input ? slot(id).input_read_at : slot(id).read_at) = stamp_;
    }
  };
  if (step.kind() == Step::Kind::send) reads(step.slots());
  if (step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy) reads(step.from());
  if (step.kind() != Step::Kind::finish) return;
  for (std::uint32_t k = 0; k < step.slots().count; ++k)
    slot(id_of(step.slots().space, step.slots().first + k)).finish_at = stamp_;
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
    split(
        step.slots(), [&](std::uint32_t id) { return source_base(step.slots().space, id); },
        [&](const Slots& part) { runs.push_back(source(part)); });
  }
}

void Rounds::add_receive(const Step& step, std::size_t index, std::vector<Run>& runs) {
  const std::uint32_t start = id_of(step.slots().space, step.slots().first);
  const auto coming = [&](std::uint32_t id) {
    if (contributions_ == nullptr) return std::uint32_t{1};
    const auto number = static_cast<std::size_t>(&step - schedule_.steps().data());
    return contributions_->of(number)[id - start];
  };
  if (step.kind() == Step::Kind::recv_reduce) {
    split(step.slots(), coming, [&](const Slots& part) {
      runs.push_back(arrival(part, coming(id_of(part.space, part.first))));
      operands_.push_back({part, runs.back(), step.side(), index});
    });
    return;
  }
  // What the round still reads must not be overwritten by what arrives.
  const auto key = [&](std::uint32_t id) { return std::tuple{home(id), is_read(id), coming(id)}; };
  split(step.slots(), key, [&](const Slots& part) {
    const std::uint32_t id = id_of(part.space, part.first);
    const bool stays = !is_read(id);
    const Run target = destination(part, coming(id));
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
        copies_.emplace_back(destination(into, from.contributions), from);
      });
  }
  add_folds();
  for (const auto& [target, from] : copies_)
    round_.folds.push_back({.destination = target, .operands = {from}});
  copies_.clear();
}

/// Operands with the same destination belong together. Where destinations overlap without being
/// equal, they are cut into single units first.
void Rounds::add_folds() {
  // Messages were added peer by peer, and before the local steps.
  std::ranges::stable_sort(operands_, {}, &Operand::step);
  if (!are_disjoint_or_equal()) cut_operands();
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].into.count == 0) continue;
    const Slots into = operands_[i].into;
    const auto key = [&](std::uint32_t id) {
      return std::tuple{home(id), source_base(into.space, id), slot(id).finish_at == stamp_,
                        contributions_at(into.space, id)};
    };
    split(into, key, [&](const Slots& part) { add_fold(i, part); });
    for (std::size_t k = i + 1; k < operands_.size(); ++k)
      if (operands_[k].into == into) operands_[k].into.count = 0;
  }
  operands_.clear();
}

void Rounds::add_fold(std::size_t first, const Slots& part) {
  const Slots whole = operands_[first].into;
  const std::uint32_t id = id_of(part.space, part.first);
  RoundFold fold{.finish = slot(id).finish_at == stamp_};
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
  fold.operands.push_back(source(part));
  append(Side::right);
  for (std::uint32_t k = 0; k < part.count; ++k) slot(id + k).folded_at = stamp_;
  std::uint32_t all = 0;
  for (const Run& operand : fold.operands) all += operand.contributions;
  fold.destination = destination(part, contributions_ == nullptr ? 1 : all);
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

/// What the round wrote up to here is what stands in its slots from now on.
void Rounds::complete() {
  for (const auto& [id, contributions] : written_now_) {
    slot(id).written = true;
    slot(id).contributions = contributions;
  }
  written_now_.clear();
}

/// Slots that the round finishes without folding into them. They are read as its other steps
/// left them.
void Rounds::add_finishes(std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (step.kind() != Step::Kind::finish) continue;
    const auto key = [&](std::uint32_t id) {
      return std::tuple{home(id), source_base(step.slots().space, id), slot(id).folded_at == stamp_,
                        contributions_at(step.slots().space, id)};
    };
    split(step.slots(), key, [&](const Slots& part) {
      if (slot(id_of(part.space, part.first)).folded_at == stamp_) return;
      const Run from = source(part);
      round_.folds.push_back({.destination = destination(part, from.contributions),
                              .operands = {from},
                              .finish = true});
    });
  }
}

std::vector<RoundFold> Rounds::results() const {
  const Contract& contract = layout_.contract();
  std::vector<RoundFold> results;
  const auto is_missing = [&](std::uint32_t unit) { return !is_written(unit); };
  // Of the n * n blocks of an all_to_all one only is input and output of the same rank.
  const bool is_pairs = contract.collective == Collective::all_to_all;
  const auto self = static_cast<std::uint32_t>(layout_.self());
  const std::uint32_t first = is_pairs ? self * static_cast<std::uint32_t>(contract.size + 1) : 0;
  const std::uint32_t last = is_pairs ? first + 1 : contract.blocks();
  for (std::uint32_t block = first; block < last; ++block) {
    if (!contract.wants_output(layout_.self(), block) || !contract.has_input(layout_.self(), block))
      continue;
    const std::uint32_t end = (block + 1) * parts_;
    for (std::uint32_t unit = block * parts_; unit < end; ++unit) {
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
