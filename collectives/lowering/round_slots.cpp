#include "round_slots.hpp"

#include <algorithm>

#include <tutti/error.hpp>

namespace tutti::v0::detail {

bool overlap(const Run& a, const Run& b, bool in_place) noexcept {
  if (a.base == Base::message || b.base == Base::message) return false;
  const bool is_held = a.base == Base::held;
  if (is_held != (b.base == Base::held) || (a.base != b.base && !in_place)) return false;
  const std::uint32_t first_of_a = is_held ? a.place : a.first;
  const std::uint32_t first_of_b = is_held ? b.place : b.first;
  return first_of_a < first_of_b + b.count && first_of_b < first_of_a + a.count;
}

RoundSlots::RoundSlots(const Schedule& schedule, const Layout& layout, bool in_place,
                       const Contributions* contributions)
    : layout_{layout}, in_place_{in_place}, counts_{contributions != nullptr},
      units_{schedule.units()}, parts_{schedule.units() / layout.contract().blocks()} {
  expects(parts_ * layout.contract().blocks() == units_,
          "units are a multiple of the collective's blocks");
  find_slots(schedule);
  find_held(schedule);
}

/// Collects the slots that steps name: few of the vector's, which are n * n in an all_to_all.
void RoundSlots::find_slots(const Schedule& schedule) {
  std::vector<std::uint32_t> ids;
  const auto add = [&](const Slots& slots) {
    for (std::uint32_t k = 0; k < slots.count; ++k)
      ids.push_back(id_of(slots.space, slots.first + k));
  };
  for (const Step& step : schedule.steps()) {
    expects(is_in_one_plane(step.slots()) && (step.has_peer() || is_in_one_plane(step.from())),
            "a run of slots stays in one plane");
    add(step.slots());
    if (step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy) add(step.from());
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const std::uint32_t id : ids) slots_.push_back({.id = id});
}

void RoundSlots::find_held(const Schedule& schedule) {
  for (const Step& step : schedule.steps()) {
    if (step.kind() == Step::Kind::send) continue;
    for (std::uint32_t k = 0; k < step.slots().count; ++k) {
      const std::uint32_t id = id_of(step.slots().space, step.slots().first + k);
      if (home(id) == Base::held) held_.push_back(id);
    }
  }
  std::ranges::sort(held_);
  held_.erase(std::unique(held_.begin(), held_.end()), held_.end());
}

RoundSlots::Slot& RoundSlots::slot(std::uint32_t id) {
  return *std::ranges::lower_bound(slots_, id, {}, &Slot::id);
}

bool RoundSlots::is_written(std::uint32_t id) const {
  const auto found = std::ranges::lower_bound(slots_, id, {}, &Slot::id);
  return found != slots_.end() && found->id == id && found->written;
}

Base RoundSlots::source_base(Space space, std::uint32_t id) {
  const bool is_input = space == Space::in || (space == Space::out && !slot(id).written);
  if (!is_input) return home(id);
  expects(layout_.contract().has_input(layout_.self(), unit_of(id) / parts_),
          "a schedule reads only slots that hold something");
  return Base::in;
}

std::uint32_t RoundSlots::contributions_at(Space space, std::uint32_t id) {
  if (!counts_ || source_base(space, id) == Base::in) return 1;
  return slot(id).contributions;
}

Base RoundSlots::home(std::uint32_t id) const {
  const bool is_result =
      id < units_ && layout_.contract().wants_output(layout_.self(), unit_of(id) / parts_);
  return is_result ? Base::out : Base::held;
}

bool RoundSlots::is_read(std::uint32_t id) {
  const Slot& own = slot(id);
  return own.read_at == stamp_ ||
         (in_place_ && own.input_read_at == stamp_ && home(id) == Base::out);
}

Run RoundSlots::run_at(Base base, std::uint32_t id, std::uint32_t count) const {
  std::uint32_t place = 0;
  if (base == Base::held) {
    const auto found = std::ranges::lower_bound(held_, id);
    expects(found != held_.end() && *found == id,
            "a schedule reads only scratch that it has written");
    place = static_cast<std::uint32_t>(found - held_.begin());
  }
  return {base, unit_of(id), count, place};
}

Run RoundSlots::source(const Slots& slots) {
  const std::uint32_t id = id_of(slots.space, slots.first);
  Run run = run_at(source_base(slots.space, id), id, slots.count);
  run.contributions = contributions_at(slots.space, id);
  return run;
}

Run RoundSlots::destination(const Slots& slots, std::uint32_t contributions) {
  const std::uint32_t id = id_of(slots.space, slots.first);
  for (std::uint32_t k = 0; k < slots.count; ++k) written_now_.emplace_back(id + k, contributions);
  Run run = run_at(home(id), id, slots.count);
  run.contributions = contributions;
  return run;
}

bool RoundSlots::is_in_one_plane(const Slots& slots) const noexcept {
  return slots.count == 0 || slots.first / units_ == (slots.first + slots.count - 1) / units_;
}

void RoundSlots::begin(std::uint32_t stamp, std::span<const Step> steps) {
  stamp_ = stamp;
  for (const Step& step : steps) mark(step);
}

/// Notes the slots that a step reads or finishes.
void RoundSlots::mark(const Step& step) {
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

void RoundSlots::complete() {
  for (const auto& [id, contributions] : written_now_) {
    slot(id).written = true;
    slot(id).contributions = contributions;
  }
  written_now_.clear();
}

}  // namespace tutti::v0::detail
