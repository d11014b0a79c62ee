/// @file
/// The schedule: the work of one rank in one collective, as rounds of steps over slots. It knows no
/// bytes, no types, no transport and no clock. Executor, verifier, predictor and printer interpret
/// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// The space of a slot.
enum class Space : std::uint8_t {
  in,      ///< The caller's input. Read-only.
  out,     ///< The result. A slot not yet written reads as the `in` slot of the same index.
  scratch  ///< Workspace, in planes: slot p * units + u is shaped like unit u.
};

/// The side of the incoming operand in a reduction.
enum class Side : std::uint8_t {
  left,  ///< incoming op own
  right  ///< own op incoming
};

/// A run of consecutive slots. A vector is cut into blocks (one; one per rank; or one per pair of
/// ranks, source-major), a block into equally many parts; unit = block * parts + part. A run of
/// scratch slots stays in one plane.
struct Slots {
  Space space = Space::out;  ///< Space of the slots.
  std::uint32_t first = 0;   ///< Unit of the first slot.
  std::uint32_t count = 1;   ///< Number of slots.
  /// Equality of all members.
  friend bool operator==(const Slots&, const Slots&) = default;
};

/// Sends slots to a peer. All sends of a round to one peer are one message, slots as listed.
struct Send {
  Rank peer;   ///< The receiver.
  Slots from;  ///< The sent slots, as they were before the round.
};
/// Receives slots from a peer. No other step of the round may write them.
struct Recv {
  Rank peer;   ///< The sender.
  Slots into;  ///< The destination.
};
/// Receives slots and reduces them into the own ones. Several of them in one round into one slot
/// are one fold: left operands as listed, own value, right operands as listed, rounded once.
struct RecvReduce {
  Rank peer;               ///< The sender.
  Slots into;              ///< The own operand and the result.
  Side side = Side::left;  ///< Side of the incoming operand.
};
/// Reduces local slots. `from` must not be written in this round.
struct Reduce {
  Slots from;              ///< The other operand.
  Slots into;              ///< The own operand and the result; as many slots.
  Side side = Side::left;  ///< Side of `from`.
};
/// Copies local slots. `from` must not be written in this round.
struct Copy {
  Slots from;  ///< Source.
  Slots into;  ///< Destination; as many slots.
};
/// Marks slots complete once the other steps of the round are done: averages are divided here. In
/// the round of the fold that happens before the fold is rounded, in another round after it.
struct Finish {
  Slots slots;  ///< Each exactly once on every path to a result.
};

/// One step, packed into 16 bytes.
class Step {
 public:
  /// Kind of the step; see the structs of the same names.
  enum class Kind : std::uint8_t { send, recv, recv_reduce, reduce, copy, finish };

  // NOLINTBEGIN(google-explicit-constructor): a round lists the structs themselves.
  /// Makes a send.
  Step(const Send& s) : Step{Kind::send, s.from, static_cast<std::uint32_t>(s.peer)} {}
  /// Makes a recv.
  Step(const Recv& s) : Step{Kind::recv, s.into, static_cast<std::uint32_t>(s.peer)} {}
  /// Makes a recv_reduce.
  Step(const RecvReduce& s)
      : Step{Kind::recv_reduce, s.into, static_cast<std::uint32_t>(s.peer), s.side} {}
  /// Makes a reduce.
  Step(const Reduce& s) : Step{Kind::reduce, s.into, s.from.first, s.side, s.from.space} {}
  /// Makes a copy.
  Step(const Copy& s) : Step{Kind::copy, s.into, s.from.first, Side::left, s.from.space} {}
  /// Makes a finish.
  Step(const Finish& s) : Step{Kind::finish, s.slots, 0} {}
  // NOLINTEND(google-explicit-constructor)

  /// @return the kind of the step.
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// @return the peer of a send, recv or recv_reduce.
  [[nodiscard]] Rank peer() const noexcept { return static_cast<Rank>(other_); }
  /// @return the side of a recv_reduce or reduce.
  [[nodiscard]] Side side() const noexcept { return side_; }
  /// @return the slots sent, received into, reduced into, copied into or finished.
  [[nodiscard]] Slots slots() const noexcept { return {space_, first_, count_}; }
  /// @return the source slots of a reduce or copy.
  [[nodiscard]] Slots from() const noexcept { return {from_space_, other_, count_}; }
  /// @return whether it is a send, recv or recv_reduce.
  [[nodiscard]] bool has_peer() const noexcept { return kind_ <= Kind::recv_reduce; }
  /// @return the same step over finer units: `factor` for every unit.
  [[nodiscard]] Step refined(std::uint32_t factor) const noexcept;
  /// @param slots in the space of its own. @param from the first source slot of a reduce or copy.
  /// @return the same step over these slots.
  [[nodiscard]] Step over(const Slots& slots, std::uint32_t from) const noexcept {
    Step step = *this;
    step.first_ = slots.first;
    step.count_ = slots.count;
    if (kind_ == Kind::reduce || kind_ == Kind::copy) step.other_ = from;
    return step;
  }
  /// @return the same step with another peer.
  [[nodiscard]] Step with_peer(Rank peer) const noexcept;
  /// Equality of all members.
  friend bool operator==(const Step&, const Step&) = default;

 private:
  Step(Kind kind, const Slots& slots, std::uint32_t other, Side side = Side::left,
       Space from_space = Space::out)
      : kind_{kind}, side_{side}, space_{slots.space},
        from_space_{from_space}, first_{slots.first}, count_{slots.count}, other_{other} {}

  Kind kind_;
  Side side_;
  Space space_;
  Space from_space_;
  std::uint32_t first_;
  std::uint32_t count_;
  std::uint32_t other_;
};
static_assert(sizeof(Step) == 16);

/// One rank's program: rounds of steps. Steps of a round read slots as they were before the round.
/// Rounds of different ranks need not line up. Steps of later rounds may start early, with the same
/// result, unless the schedule is paced(). A value without pointers: compared, cached, printed.
class TUTTI_API Schedule {
 public:
  /// An empty schedule. @param units units of the whole vector: blocks * parts.
  /// @param planes planes of scratch, each shaped like the whole vector; only used slots cost
  /// memory.
  explicit Schedule(std::uint32_t units, std::uint32_t planes = 0, bool paced = false)
      : units_{units}, planes_{planes}, paced_{paced} {}

  /// Reserves memory. @param steps total number of steps, at most. @return this schedule.
  Schedule& reserve(std::size_t steps) {
    steps_.reserve(steps);
    return *this;
  }
  /// Adds a step to the open round. @return this schedule.
  Schedule& add(const Step& step) {
    steps_.push_back(step);
    return *this;
  }
  /// Closes the open round, unless it is empty. @return this schedule.
  Schedule& end_round() {
    if (steps_.size() > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(steps_.size());
    return *this;
  }
  /// Closes the open round and adds all rounds of another schedule. @param other with as many
  /// units; not this one. @return this schedule.
  Schedule& append(const Schedule& other);
  /// Adds one whole round. @return this schedule.
  Schedule& round(std::initializer_list<Step> steps) {
    for (const Step& step : steps) add(step);
    return end_round();
  }

  /// Marks slots complete at the end of the last closed round, or of a round of its own if there is
  /// none.
  /// @return this schedule.
  Schedule& finish(const Slots& slots) {
    if (ends_.empty()) return round({Finish{slots}});
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(ends_.back()), Finish{slots});
    ++ends_.back();
    return *this;
  }

  /// @return units of the whole vector.
  [[nodiscard]] std::uint32_t units() const noexcept { return units_; }
  /// @return planes of scratch.
  [[nodiscard]] std::uint32_t planes() const noexcept { return planes_; }
  /// @return whether rounds are flow control: a step waits for all earlier rounds. Otherwise it
  /// waits for the earlier steps on its slots, and messages to one peer wait for one another.
  [[nodiscard]] bool paced() const noexcept { return paced_; }
  /// @return number of closed rounds.
  [[nodiscard]] std::size_t rounds() const noexcept { return ends_.size(); }
  /// @param index in [0, rounds()). @return the steps of that round.
  [[nodiscard]] std::span<const Step> round(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::span{steps_}.subspan(begin, ends_[index] - begin);
  }
  /// @return all steps of all rounds.
  [[nodiscard]] std::span<const Step> steps() const noexcept { return steps_; }
  /// @return bytes of memory of this schedule.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return sizeof *this + steps_.capacity() * sizeof(Step) + ends_.capacity() * sizeof(std::size_t);
  }
  /// Equality of all rounds.
  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  std::uint32_t units_;
  std::uint32_t planes_;
  bool paced_;
  std::vector<Step> steps_{};
  std::vector<std::size_t> ends_{};  // one past the last step of each closed round
};

/// Runs one schedule after the other; units are refined to their common multiple.
[[nodiscard]] TUTTI_API Schedule then(Schedule first, Schedule second);

/// Moves a schedule to a subgroup. @param members the communicator's rank of each group rank.
/// @param schedule written in group ranks. @return the schedule in the communicator's ranks.
[[nodiscard]] TUTTI_API Schedule on(std::span<const Rank> members, const Schedule& schedule);

/// Refines units. @param units a multiple of its units. @return the same steps.
[[nodiscard]] TUTTI_API Schedule refine(Schedule schedule, std::uint32_t units);

/// Moves a schedule to one of several equal pieces of a longer vector. @param piece in [0, pieces).
[[nodiscard]] TUTTI_API Schedule on_piece(const Schedule& schedule, std::uint32_t piece,
                                          std::uint32_t pieces);

/// Reduces a schedule to a vector of which only the first blocks have elements.
/// @param kept number of these blocks, at least one. @param blocks number of equal blocks of the
/// schedule's vector.
/// @return the steps on the first blocks.
[[nodiscard]] TUTTI_API Schedule first_blocks(const Schedule& schedule, std::uint32_t kept,
                                              std::uint32_t blocks);

/// Numbers of blocks of a schedule's vector and of a longer one, and the mapping between them.
struct TUTTI_API Blocks {
  std::uint32_t own = 1;    ///< Blocks of the schedule's vector.
  std::uint32_t count = 1;  ///< Blocks of the longer vector.
  /// The blocks of the longer vector that one block of the schedule represents: any number, none of
  /// them twice. The span need not outlive the next call.
  std::function<std::span<const std::uint32_t>(std::uint32_t block)> meant{};
};

/// Moves a schedule to a longer vector by a mapping of blocks. @param schedule any whose Reduce and
/// Copy stay within a block.
[[nodiscard]] TUTTI_API Schedule on_blocks(const Schedule& schedule, const Blocks& blocks);

/// then(first, on_blocks(second, blocks)), without the intermediate schedule.
[[nodiscard]] TUTTI_API Schedule then(Schedule first, const Schedule& second, const Blocks& blocks);

/// Continues another schedule: reads `out` instead of `in`, which has the same values until the
/// first write.
[[nodiscard]] TUTTI_API Schedule continued(const Schedule& schedule);

/// Removes Finish, for results that are reduced further.
[[nodiscard]] TUTTI_API Schedule unfinished(const Schedule& schedule);

/// Runs several schedules at once: a round is that round of each of them. Free of deadlock if
/// messages are received in rounds of the same number as they are sent. @param parts at least one,
/// equal in units; they share no slots.
[[nodiscard]] TUTTI_API Schedule side_by_side(std::span<const Schedule> parts);

/// The reversal of a message.
enum class Reversal : std::uint8_t {
  move,  ///< Send and Recv are exchanged: a scatter becomes a gather.
  /// The former sender reduces the message that returns: a broadcast becomes a reduce.
  reduce
};

/// Reverses a schedule in time: rounds in opposite order. With Reversal::reduce the former
/// receivers' operands stand right of the own value, in the order in which a round listed them:
/// in-order trees stay in order. @param schedule sends and receives only.
[[nodiscard]] TUTTI_API Schedule reverse(const Schedule& schedule, Reversal reversal);

}  // namespace tutti::v0
