/// @file
/// The slots of a schedule while lowering walks through its rounds.
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
  std::uint32_t count = 1;  ///< How many units.
  /// Index of the first slot among RoundSlots::held (held), or into Round::arrivals (message).
  std::uint32_t place = 0;
  /// Ranks whose elements are summed up there; one where nobody asks.
  std::uint32_t contributions = 1;
};

/// @param a a run. @param b another one of the same rank. @param in_place whether a unit's input
/// and output are the same memory. @return whether they have memory in common that is there before
/// the round.
[[nodiscard]] bool overlap(const Run& a, const Run& b, bool in_place) noexcept;

/// Knows of each slot what it holds before the round at hand, from where it is read, and to where
/// it is written. A slot has an id: the unit for in and out, units + index for scratch.
class RoundSlots {
 public:
  /// As Rounds.
  RoundSlots(const Schedule& schedule, const Layout& layout, bool in_place,
             const Contributions* contributions);

  /// @return parts of a block.
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
  /// Whether this round reads what would be overwritten there.
  [[nodiscard]] bool is_read(std::uint32_t id);
  /// Whether this round finishes a slot.
  [[nodiscard]] bool is_finished(std::uint32_t id) { return slot(id).finish_at == stamp_; }
  /// Whether this round has folded into a slot.
  [[nodiscard]] bool is_folded(std::uint32_t id) { return slot(id).folded_at == stamp_; }
  void set_folded(std::uint32_t id) { slot(id).folded_at = stamp_; }
  /// @return the contributions in one slot before this round.
  [[nodiscard]] std::uint32_t contributions_at(Space space, std::uint32_t id);

  /// A round begins. @param stamp its number, from one. @param steps of it.
  void begin(std::uint32_t stamp, std::span<const Step> steps);
  /// All that the round wrote until now stands in its slots from now on.
  void complete();
  /// @return the run that `slots`, all of one base and as many contributions, is read from.
  [[nodiscard]] Run source(const Slots& slots);
  /// Writes to `slots`, all of one home. @return the run.
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
    bool written = false;             // before this round; for Finish, by its other steps as well
    std::uint32_t input_read_at = 0;  // stamp of the last round that reads the input there
    std::uint32_t read_at = 0;        // stamp of the last round that reads what was written there
    std::uint32_t finish_at = 0;      // stamp of the round that finishes it
    std::uint32_t folded_at = 0;      // stamp of the last round that folds into it
    std::uint32_t contributions = 1;  // of what was written
  };

  void find_slots(const Schedule& schedule);
  void find_held(const Schedule& schedule);
  [[nodiscard]] bool is_in_one_plane(const Slots& slots) const noexcept;
  [[nodiscard]] Slot& slot(std::uint32_t id);
  void mark(const Step& step);
  [[nodiscard]] Run run_at(Base base, std::uint32_t id, std::uint32_t count) const;

  const Layout& layout_;
  bool in_place_;
  bool counts_;  // contributions
  std::uint32_t units_;
  std::uint32_t parts_;
  std::vector<Slot> slots_{};  // those that steps name, sorted
  std::vector<std::uint32_t> held_{};
  std::uint32_t stamp_ = 0;                                             // of this round
  std::vector<std::pair<std::uint32_t, std::uint32_t>> written_now_{};  // id, contributions
};

}  // namespace tutti::v0::detail
