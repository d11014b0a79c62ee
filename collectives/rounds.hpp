/// @file
/// The part of lowering that comes first: what the steps of each round read and write, in runs of
/// units instead of slots. It decides what is staged, what a first touch reads, and which slots
/// need memory of the run's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tutti/spi/schedule.hpp>

#include "contributions.hpp"
#include "layout.hpp"
#include "proof/program.hpp"

namespace tutti::v0::detail {

/// A run of consecutive units in one memory.
struct Run {
  Base base = Base::in;
  std::uint32_t first = 0;  ///< First unit, which tells sizes.
  std::uint32_t count = 1;  ///< How many units.
  /// Of held: index of the first slot among Rounds::held. Of message: index into Round::arrivals.
  std::uint32_t place = 0;
  /// Ranks whose elements are summed up there; one where nobody asks.
  std::uint32_t contributions = 1;
};

/// @param a a run. @param b another one of the same rank. @param in_place whether a unit's input
/// and output are the same memory. @return whether they have memory in common that is there before
/// the round.
[[nodiscard]] bool overlap(const Run& a, const Run& b, bool in_place) noexcept;

/// A message of a round.
struct RoundMessage {
  Rank peer = -1;
  bool is_send = false;
  std::vector<Run> runs{};
};

/// A reduction, or a copy of one operand; operands in the order of evaluation.
struct RoundFold {
  Run destination{};
  std::vector<Run> operands{};
  bool finish = false;
};

/// What a round does.
struct Round {
  std::vector<RoundMessage> messages{};  ///< One per peer and direction, as first mentioned.
  std::vector<RoundFold> folds{};        ///< After what they need of the round's messages.
  std::vector<Run> arrivals{};           ///< What is received, but not to where it stays.
};

/// Walks through a schedule. A slot is known by its id: the unit for in and out, units + index for
/// scratch.
class Rounds {
 public:
  /// @param schedule outlives this. @param layout likewise; which blocks the caller has memory for.
  /// @param in_place whether a unit's input and output are the same memory. @param contributions
  /// of the schedule, likewise, or null where nobody asks for them.
  Rounds(const Schedule& schedule, const Layout& layout, bool in_place,
         const Contributions* contributions = nullptr);

  /// @return parts of a block.
  [[nodiscard]] std::uint32_t parts() const noexcept { return parts_; }
  /// @return the ids of slots with memory of the run's own, sorted.
  [[nodiscard]] const std::vector<std::uint32_t>& held() const noexcept { return held_; }
  /// @return what the next round does. Throws Error{bug} if it breaks the rules of schedule.hpp.
  [[nodiscard]] Round next();
  /// @return after the last round, copies of results that no step writes: they are in the input.
  [[nodiscard]] std::vector<RoundFold> results() const;

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
  /// An operand of a fold beside the own value.
  struct Operand {
    Slots into;
    Run from;
    Side side;
    std::size_t step;  // of the round: operands stand as listed
  };

  [[nodiscard]] std::uint32_t id_of(Space space, std::uint32_t index) const noexcept {
    return space == Space::scratch ? units_ + index : index;
  }
  [[nodiscard]] std::uint32_t unit_of(std::uint32_t id) const noexcept { return id % units_; }
  [[nodiscard]] Slot& slot(std::uint32_t id);
  [[nodiscard]] bool is_written(std::uint32_t id) const;
  void find_slots();
  void find_held();
  [[nodiscard]] Base source_base(Space space, std::uint32_t id);
  [[nodiscard]] Base home(std::uint32_t id) const;
  [[nodiscard]] bool is_read(std::uint32_t id);
  [[nodiscard]] Run run_at(Base base, std::uint32_t id, std::uint32_t count) const;
  [[nodiscard]] Run source(const Slots& slots);
  [[nodiscard]] Run destination(const Slots& slots, std::uint32_t contributions);
  [[nodiscard]] Run arrival(const Slots& slots, std::uint32_t contributions);
  [[nodiscard]] std::uint32_t contributions_at(Space space, std::uint32_t id);
  template <class Key, class Visit>
  void split(const Slots& slots, Key key, Visit visit);
  template <class Visit>
  void split_local(const Step& step, Visit visit);

  [[nodiscard]] bool is_in_one_plane(const Slots& slots) const noexcept;
  void mark(const Step& step);
  void add_messages(std::span<const Step> steps);
  void add_receive(const Step& step, std::size_t index, std::vector<Run>& runs);
  void add_local(std::span<const Step> steps);
  void add_folds();
  void add_fold(std::size_t first, const Slots& part);
  [[nodiscard]] bool are_disjoint_or_equal() const;
  void cut_operands();
  void complete();
  void add_finishes(std::span<const Step> steps);

  const Schedule& schedule_;
  const Layout& layout_;
  bool in_place_;
  const Contributions* contributions_;  // or null
  std::uint32_t units_;
  std::uint32_t parts_;
  std::vector<Slot> slots_{};  // those that steps name, sorted
  std::vector<std::uint32_t> held_{};
  std::size_t index_ = 0;    // of the next round
  std::uint32_t stamp_ = 0;  // of this one
  Round round_{};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> written_now_{};  // id, contributions
  std::vector<Operand> operands_{};
  std::vector<std::pair<Run, Run>> copies_{};  // to, from
};

}  // namespace tutti::v0::detail
