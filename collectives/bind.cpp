#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include <tutti/error.hpp>

#include "program.hpp"

namespace tutti::inline v0::detail {
namespace {

/// Binds one schedule. A slot is known by its id: the unit for in and out, which hazards treat as
/// one memory because of in-place calls, and units + index for scratch.
class Binder {
 public:
  Binder(const Schedule& schedule, const Layout& layout)
      : schedule_{schedule}, layout_{layout}, slots_(schedule.units() * (schedule.planes() + 1)) {
    program_.units = schedule.units();
    program_.parts = schedule.units() / layout.contract().blocks();
    expects(program_.parts * layout.contract().blocks() == program_.units,
            "units are a multiple of the collective's blocks");
  }

  Program run() {
    for (std::size_t index = 0; index < schedule_.rounds(); ++index) {
      const std::span<const Step> steps = schedule_.round(index);
      stamp_ = static_cast<std::uint32_t>(index) + 1;
      mark(steps);
      bind_messages(steps);
      bind_local(steps);
      settle();
      bind_finishes(steps);
      settle();
      end_round();
    }
    copy_results();
    number_held();
    fuse(program_);
    find_shortcuts(program_);
    return std::move(program_);
  }

 private:
  struct Slot {
    bool written = false;         // before this round; for Finish, by its other steps as well
    bool held = false;            // needs memory of ours
    std::uint32_t read_at = 0;    // stamp of the last round that reads it
    std::uint32_t finish_at = 0;  // stamp of the round that finishes it
    std::uint32_t folded_at = 0;  // stamp of the last round that folds into it
  };
  /// An incoming operand of a fold.
  struct Operand {
    Slots into;
    Run from;
    Side side;
    std::size_t step;  // of the round: operands stand as listed
  };

  [[nodiscard]] std::uint32_t id_of(Space space, std::uint32_t index) const noexcept {
    return space == Space::scratch ? program_.units + index : index;
  }
  [[nodiscard]] std::uint32_t unit_of(std::uint32_t id) const noexcept {
    return id % program_.units;
  }

  /// Where one slot is read from, as it stands before this round.
  [[nodiscard]] Base source_base(Space space, std::uint32_t id) {
    const bool is_input = space == Space::in || (space == Space::out && !slots_[id].written);
    if (!is_input) return home(id);
    expects(layout_.contract().has_input(layout_.self(), unit_of(id) / program_.parts),
            "a schedule reads only slots that hold something");
    return Base::in;
  }
  /// Where one slot is written to.
  [[nodiscard]] Base home(std::uint32_t id) {
    const std::uint32_t block = unit_of(id) / program_.parts;
    if (id < program_.units && layout_.contract().wants_output(layout_.self(), block))
      return Base::out;
    slots_[id].held = true;
    return Base::held;
  }
  [[nodiscard]] static Run run_at(Base base, std::uint32_t unit, std::uint32_t id) noexcept {
    return {base, unit, 1, base == Base::held ? id : 0};
  }

  /// Calls visit(first, count) for the longest runs of `slots` whose slots agree in key(id).
  template <class Key, class Visit>
  void split(const Slots& slots, Key key, Visit visit) {
    for (std::uint32_t first = 0; first < slots.count;) {
      const auto id = id_of(slots.space, slots.first + first);
      std::uint32_t end = first + 1;
      while (end < slots.count && key(id + end - first) == key(id)) ++end;
      visit(Slots{slots.space, slots.first + first, end - first});
      first = end;
    }
  }
  [[nodiscard]] Run with_count(Run run, std::uint32_t count) const noexcept {
    run.count = count;
    return run;
  }
  /// The run that `slots`, all of one base, is read from.
  [[nodiscard]] Run source(const Slots& slots) {
    const std::uint32_t id = id_of(slots.space, slots.first);
    const Base base = source_base(slots.space, id);
    for (std::uint32_t k = 1; k < slots.count; ++k)
      if (base == Base::held) slots_[id + k].held = true;
    return with_count(run_at(base, unit_of(id), id), slots.count);
  }
  /// The run that `slots`, all of one base, is written to.
  [[nodiscard]] Run destination(const Slots& slots) {
    const std::uint32_t id = id_of(slots.space, slots.first);
    const Base base = home(id);
    for (std::uint32_t k = 0; k < slots.count; ++k) {
      if (base == Base::held) slots_[id + k].held = true;
      written_now_.push_back(id + k);
    }
    return with_count(run_at(base, unit_of(id), id), slots.count);
  }

  /// Whether the slots lie one after the other as the units of the vector do.
  [[nodiscard]] bool in_one_plane(const Slots& slots) const noexcept {
    return slots.count == 0 ||
           slots.first / program_.units == (slots.first + slots.count - 1) / program_.units;
  }
  /// Notes what the round reads and finishes.
  void mark(std::span<const Step> steps) {
    const auto each = [this](const Slots& slots, auto visit) {
      for (std::uint32_t k = 0; k < slots.count; ++k)
        visit(slots_[id_of(slots.space, slots.first + k)]);
    };
    for (const Step& step : steps) {
      expects(in_one_plane(step.slots()) && (step.has_peer() || in_one_plane(step.from())),
              "a run of slots stays in one plane");
      const auto reads = [this](Slot& slot) { slot.read_at = stamp_; };
      if (step.kind() == Step::Kind::send) each(step.slots(), reads);
      if (step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy)
        each(step.from(), reads);
      if (step.kind() == Step::Kind::finish)
        each(step.slots(), [this](Slot& slot) { slot.finish_at = stamp_; });
    }
  }

  /// One message per peer and direction, in the order of first mention.
  void bind_messages(std::span<const Step> steps) {
    done_.assign(steps.size(), false);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (done_[i] || !steps[i].has_peer()) continue;
      const bool is_send = steps[i].kind() == Step::Kind::send;
      BoundMessage message{steps[i].peer(), is_send, size_of(program_.runs), 0};
      for (std::size_t k = i; k < steps.size(); ++k) {
        if (done_[k] || !steps[k].has_peer() || steps[k].peer() != message.peer ||
            (steps[k].kind() == Step::Kind::send) != is_send)
          continue;
        done_[k] = true;
        if (is_send) bind_send(steps[k]);
        else bind_receive(steps[k], k);
      }
      message.runs = size_of(program_.runs) - message.first_run;
      program_.messages.push_back(message);
    }
  }
  void bind_send(const Step& step) {
    split(
        step.slots(), [&](std::uint32_t id) { return source_base(step.slots().space, id); },
        [&](const Slots& part) { program_.runs.push_back(source(part)); });
  }
  void bind_receive(const Step& step, std::size_t index) {
    if (step.kind() == Step::Kind::recv_reduce) {
      operands_.push_back({step.slots(), stage(step.slots()), step.side(), index});
      program_.runs.push_back(operands_.back().from);
      return;
    }
    // What the round still reads must not be overwritten by what arrives.
    const auto key = [&](std::uint32_t id) {
      return std::pair{home(id), slots_[id].read_at == stamp_};
    };
    split(step.slots(), key, [&](const Slots& part) {
      const bool is_read = slots_[id_of(part.space, part.first)].read_at == stamp_;
      const Run target = destination(part);
      if (is_read) copies_.push_back({target, stage(part)});
      program_.runs.push_back(is_read ? copies_.back().second : target);
    });
  }
  [[nodiscard]] Run stage(const Slots& slots) {
    const std::uint32_t unit = unit_of(id_of(slots.space, slots.first));
    const Run run{Base::staging, unit, slots.count, size_of(program_.stages)};
    program_.stages.push_back(run);
    return run;
  }

  void bind_local(std::span<const Step> steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind() == Step::Kind::reduce) bind_reduce(steps[i], i);
      if (steps[i].kind() == Step::Kind::copy) bind_copy(steps[i]);
    }
    bind_folds();
    for (const auto& [target, from] : copies_) emit(target, {&from, 1}, false);
    copies_.clear();
  }
  /// Splits a local step so that source and destination each have one base.
  template <class Visit>
  void split_local(const Step& step, Visit visit) {
    const Slots from = step.from();
    const std::uint32_t shift = id_of(from.space, from.first);
    const std::uint32_t start = id_of(step.slots().space, step.slots().first);
    const auto key = [&](std::uint32_t id) {
      return std::pair{home(id), source_base(from.space, id - start + shift)};
    };
    split(step.slots(), key, [&](const Slots& into) {
      visit(into, source({from.space, from.first + (into.first - step.slots().first), into.count}));
    });
  }
  void bind_reduce(const Step& step, std::size_t index) {
    split_local(step, [&](const Slots& into, const Run& from) {
      operands_.push_back({into, from, step.side(), index});
    });
  }
  void bind_copy(const Step& step) {
    split_local(step, [&](const Slots& into, const Run& from) {
      copies_.push_back({destination(into), from});
    });
  }

  /// Folds of one round: operands with the same destination belong together. Where destinations
  /// overlap without being equal, they are cut into single units first.
  void bind_folds() {
    // Messages were bound peer by peer, and before the local steps.
    std::stable_sort(operands_.begin(), operands_.end(),
                     [](const Operand& a, const Operand& b) { return a.step < b.step; });
    if (!disjoint_or_equal()) cut_operands();
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].into.count == 0) continue;
      const Slots into = operands_[i].into;
      const auto key = [&](std::uint32_t id) {
        return std::tuple{home(id), source_base(into.space, id), slots_[id].finish_at == stamp_};
      };
      split(into, key, [&](const Slots& part) { bind_fold(i, part); });
      for (std::size_t k = i + 1; k < operands_.size(); ++k)
        if (operands_[k].into == into) operands_[k].into.count = 0;
    }
    operands_.clear();
  }
  void bind_fold(std::size_t first, const Slots& part) {
    const Slots whole = operands_[first].into;
    std::vector<Run> runs;
    const auto append = [&](Side side) {
      for (std::size_t k = first; k < operands_.size(); ++k) {
        if (!(operands_[k].into == whole) || operands_[k].side != side) continue;
        Run run = operands_[k].from;
        const std::uint32_t skip = part.first - whole.first;
        run.first += skip;
        if (run.base == Base::held) run.place += skip;
        runs.push_back(with_count(run, part.count));
      }
    };
    append(Side::left);
    runs.push_back(source(part));
    append(Side::right);
    const std::uint32_t id = id_of(part.space, part.first);
    for (std::uint32_t k = 0; k < part.count; ++k) slots_[id + k].folded_at = stamp_;
    emit(destination(part), runs, slots_[id].finish_at == stamp_);
  }
  [[nodiscard]] bool disjoint_or_equal() const {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      for (std::size_t k = i + 1; k < operands_.size(); ++k) {
        const Slots &a = operands_[i].into, &b = operands_[k].into;
        if (a.space == b.space && !(a == b) && a.first < b.first + b.count &&
            b.first < a.first + a.count)
          return false;
      }
    return true;
  }
  void cut_operands() {
    std::vector<Operand> cut;
    for (const Operand& operand : operands_)
      for (std::uint32_t k = 0; k < operand.into.count; ++k) {
        Run run = with_count(operand.from, 1);
        run.first += k;
        if (run.base == Base::held) run.place += k;
        cut.push_back(
            {{operand.into.space, operand.into.first + k, 1}, run, operand.side, operand.step});
      }
    operands_ = std::move(cut);
  }

  /// What the round wrote up to here is what stands in its slots from now on.
  void settle() {
    for (const std::uint32_t id : written_now_) slots_[id].written = true;
    written_now_.clear();
  }
  /// Slots that the round finishes without folding into them. They are read as its other steps
  /// left them.
  void bind_finishes(std::span<const Step> steps) {
    for (const Step& step : steps) {
      if (step.kind() != Step::Kind::finish) continue;
      const auto key = [&](std::uint32_t id) {
        return std::tuple{home(id), source_base(step.slots().space, id),
                          slots_[id].folded_at == stamp_};
      };
      split(step.slots(), key, [&](const Slots& part) {
        if (slots_[id_of(part.space, part.first)].folded_at == stamp_) return;
        const Run from = source(part);
        emit(destination(part), {&from, 1}, true);
      });
    }
  }

  void emit(const Run& target, std::span<const Run> operands, bool finish) {
    program_.folds.push_back(
        {target, size_of(program_.runs), static_cast<std::uint32_t>(operands.size()), finish});
    program_.runs.insert(program_.runs.end(), operands.begin(), operands.end());
  }
  void end_round() {
    program_.rounds.push_back(
        {size_of(program_.messages), size_of(program_.folds), size_of(program_.stages)});
  }

  /// Results that no step writes are still in the input: own blocks, and everything on one rank.
  void copy_results() {
    const Contract& contract = layout_.contract();
    const auto missing = [&](std::uint32_t unit) {
      return !slots_[unit].written &&
             contract.wants_output(layout_.self(), unit / program_.parts) &&
             contract.has_input(layout_.self(), unit / program_.parts);
    };
    for (std::uint32_t unit = 0; unit < program_.units; ++unit) {
      if (!missing(unit)) continue;
      std::uint32_t end = unit + 1;
      while (end < program_.units && missing(end)) ++end;
      program_.results.push_back({{Base::out, unit, end - unit}, size_of(program_.runs), 1, false});
      program_.runs.push_back({Base::in, unit, end - unit});
      unit = end;
    }
  }

  /// Held runs were known by slot id; now that all are known, by their position among them.
  void number_held() {
    std::vector<std::uint32_t> position(slots_.size());
    for (std::uint32_t id = 0; id < slots_.size(); ++id) {
      if (!slots_[id].held) continue;
      position[id] = size_of(program_.held);
      program_.held.push_back(id);
    }
    const auto renumber = [&](Run& run) {
      if (run.base == Base::held) run.place = position[run.place];
    };
    for (Run& run : program_.runs) renumber(run);
    for (BoundFold& fold : program_.folds) renumber(fold.destination);
  }

  template <class T>
  [[nodiscard]] static std::uint32_t size_of(const std::vector<T>& list) noexcept {
    return static_cast<std::uint32_t>(list.size());
  }

  const Schedule& schedule_;
  const Layout& layout_;
  Program program_{};
  std::vector<Slot> slots_;
  std::uint32_t stamp_ = 0;
  std::vector<std::uint32_t> written_now_{};
  std::vector<bool> done_{};
  std::vector<Operand> operands_{};
  std::vector<std::pair<Run, Run>> copies_{};
};

}  // namespace

std::size_t Program::footprint() const noexcept {
  return rounds.capacity() * sizeof(BoundRound) + messages.capacity() * sizeof(BoundMessage) +
         (folds.capacity() + results.capacity()) * sizeof(BoundFold) +
         (runs.capacity() + stages.capacity()) * sizeof(Run) +
         held.capacity() * sizeof(std::uint32_t);
}

Program bind(const Schedule& schedule, const Layout& layout) {
  return Binder{schedule, layout}.run();
}

}  // namespace tutti::inline v0::detail
