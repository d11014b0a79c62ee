/// @file
/// The first part of lowering: it turns the steps of each round from slots into runs of units. It
/// decides which messages are staged, which slots are read from the input, and which need memory
/// of the run's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "round_slots.hpp"

namespace tutti::v0::detail {

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

/// The messages and folds of a round.
struct Round {
  std::vector<RoundMessage> messages{};  ///< One per peer and direction, in the order of steps.
  std::vector<RoundFold> folds{};        ///< They run after the messages that they read.
  std::vector<Run> arrivals{};           ///< Received runs that a fold moves to their destination.
};

/// Turns the steps of one round after the other into messages and folds of runs.
class Rounds {
 public:
  /// All arguments outlive this. @param layout states for which blocks the caller has memory.
  /// @param in_place whether a unit's input and output are the same memory. @param contributions
  /// of the schedule, or null if they are not counted.
  Rounds(const Schedule& schedule, const Layout& layout, bool in_place,
         const Contributions* contributions = nullptr);

  /// @return the number of parts of a block.
  [[nodiscard]] std::uint32_t parts() const noexcept { return slots_.parts(); }
  /// @return the ids of slots with memory of the run's own, sorted.
  [[nodiscard]] const std::vector<std::uint32_t>& held() const noexcept { return slots_.held(); }
  /// @return the next round. Throws Error{bug} if it breaks the rules of schedule.hpp.
  [[nodiscard]] Round next();
  /// To be called after the last round. @return copies of results that no step writes, from the
  /// input.
  [[nodiscard]] std::vector<RoundFold> results() const;

 private:
  /// An operand of a fold, other than the value of the slot itself.
  struct Operand {
    Slots into;
    Run from;
    Side side;
    std::size_t step;  // index in the round, which orders the operands
  };

  [[nodiscard]] std::uint32_t first_id(const Slots& slots) const noexcept {
    return slots_.id_of(slots.space, slots.first);
  }
  [[nodiscard]] Run arrival(const Slots& slots, std::uint32_t contributions);
  template <class Visit>
  void split_local(const Step& step, Visit visit);
  void add_messages(std::span<const Step> steps);
  void add_receive(const Step& step, std::size_t index, std::vector<Run>& runs);
  void add_local(std::span<const Step> steps);
  void add_folds();
  void add_fold(std::size_t first, const Slots& part);
  [[nodiscard]] bool are_disjoint_or_equal() const;
  void cut_operands();
  void add_finishes(std::span<const Step> steps);

  const Schedule& schedule_;
  const Layout& layout_;
  const Contributions* contributions_;  // or null
  RoundSlots slots_;
  std::size_t index_ = 0;  // of the next round
  Round round_{};
  std::vector<Operand> operands_{};
  std::vector<std::pair<Run, Run>> copies_{};  // to, from
};

}  // namespace tutti::v0::detail
