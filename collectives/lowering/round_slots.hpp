/// @file
/// The state of a schedule's slots while its rounds are lowered.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <tutti/spi/schedule.hpp>

#include "proof/program.hpp"

#include "contributions.hpp"
#include "layout.hpp"

namespace tutti::v0::detail {

/// A run of consecutive units in one memory.
struct Run {
  Base base = Base::in;
  std::uint32_t first = 0;  ///< First unit, which gives sizes.
  std::uint32_t count = 1;  ///< Number of units.
  /// Index of the first slot among RoundSlots::held (held), or into Round::arrivals (message).
  std::uint32_t place = 0;
  /// Number of ranks whose elements are summed up there; one if contributions are not counted.
  std::uint32_t contributions = 1;
};

/// @param in_place whether a unit's input and output are the same memory. @return whether two runs
/// of a rank share memory; the bytes of a message are shared with none.
[[nodiscard]] bool overlap(const Run& a, const Run& b, bool in_place) noexcept;

/// Keeps the state of each slot before the current round: whether it was written, and the memory
/// from which it is read. A slot has an id: the unit for in and out, units + index for scratch.
class RoundSlots {
 public:
  /// Arguments as those of Rounds.
  RoundSlots(const Schedule& schedule, const Layout& layout, bool in_place,
             const Contributions* contributions);

  /// @return the number of parts of a block.
  [[nodiscard]] std::uint32_t parts() const noexcept { return parts_; }
  /// @return the ids of slots with memory of the run's own, sorted.
  [[nodiscard]] const std::vector<std::uint32_t>& held() const noexcept { return held_; }
  [[nodiscard]] std::uint32_t id_of(Space space, std::uint32_t index) const noexcept {
    return space == Space::scratch ? units_ + index : index;
  }
  [[nodiscard]] std::uint32_t unit_of(std::uint32_t id) const noexcept { return id % units_; }
  [[nodiscard]] bool is_written(std::uint32_t id) const;
  /// @return the memory from which one slot is read, as it stands before this round.
  [[nodiscard]] Base source_base(Space space, std::uint32_t id);
  /// @return the memory to which one slot is written.
  [[nodiscard]] Base home(std::uint32_t id) const;
  /// Whether this round reads the memory to which a slot is written.
  [[nodiscard]] bool is_read(std::uint32_t id);
  /// Whether this round finishes a slot.
  [[nodiscard]] bool is_finished(std::uint32_t id) { return slot(id).finish_at == stamp_; }
  /// Whether this round has folded into a slot.
  [[nodiscard]] bool is_folded(std::uint32_t id) { return slot(id).folded_at == stamp_; }
  void set_folded(std::uint32_t id) { slot(id).folded_at = stamp_; }
  /// @return the contributions in one slot before this round.
  [[nodiscard]] std::uint32_t contributions_at(Space space, std::uint32_t id);

  /// Begins a round. @param stamp its number, from one.
  void begin(std::uint32_t stamp, std::span<const Step> steps);
  /// Makes the writes of the round so far part of the slots' state.
  void complete();
  /// @return the run from which `slots` are read. All have one base and equal contributions.
  [[nodiscard]] Run source(const Slots& slots);
  /// Notes a write to `slots`, all of one home. @return the run that is written.
  [[nodiscard]] Run destination(const Slots& slots, std::uint32_t contributions);

  /// Calls visit(part) for the longest parts of `slots` whose slots agree in key(id).
  template <class Key, class Visit>
  void split(const Slots& slots, Key key, Visit visit) const {
    for (std::uint32_t first = 0; first < slots.count;) {
      const auto id = id_of(slots.space, slots.first + first);
      std::uint32_t end = first + 1;
      while (end < slots.count && key(id + end - first) == key(id)) ++end;
      visit(Slots{slots.space, slots.first + first, end - first});
      first = end;
    }
  }

 private:
  struct Slot {
    std::uint32_t id = 0;
    bool written = false;             // before this round; for Finish, also by its other steps
    std::uint32_t input_read_at = 0;  // stamp of the last round that reads the input there
    std::uint32_t read_at = 0;        // stamp of the last round that reads its written value
    std::uint32_t finish_at = 0;      // stamp of the round that finishes it
    std::uint32_t folded_at = 0;      // stamp of the last round that folds into it
    std::uint32_t contributions = 1;  // of the written value
  };

  void find_slots(const Schedule& schedule);
  void find_held(const Schedule& schedule);
  [[nodiscard]] bool is_in_one_plane(const Slots& slots) const noexcept;
  [[nodiscard]] Slot& slot(std::uint32_t id);
  void mark(const Step& step);
  [[nodiscard]] Run run_at(Base base, std::uint32_t id, std::uint32_t count) const;

  const Layout& layout_;
  bool in_place_;
  bool counts_;  // whether contributions are counted
  std::uint32_t units_;
  std::uint32_t parts_;
  std::vector<Slot> slots_{};  // those that steps name, sorted
  std::vector<std::uint32_t> held_{};
  std::uint32_t stamp_ = 0;                                             // of this round
  std::vector<std::pair<std::uint32_t, std::uint32_t>> written_now_{};  // id, contributions
};

}  // namespace tutti::v0::detail
