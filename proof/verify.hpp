/// @file
/// The verifier: a symbolic proof that n schedules together do what their collective promises, for
/// any data, on any transport, even one that buffers nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/contract.hpp>
#include <tutti/spi/schedule.hpp>

namespace tutti::v0 {

/// The checks. A finding names the one that failed.
enum class CheckKind : std::uint8_t {
  shape,                     ///< The schedules do not belong together, or a round was left open.
  peer,                      ///< A message to oneself or to a rank that does not exist.
  bounds,                    ///< A slot outside of `in`, `out` or the planes of scratch.
  plane_crossed,             ///< A run of scratch slots that continues in the next plane.
  input_written,             ///< A step writes `in`.
  unit_changed,              ///< A local step moves a unit into a slot shaped like another unit.
  unmatched_send,            ///< A message that no rank receives.
  unmatched_receive,         ///< A receive without a sender.
  mismatched_message,        ///< Sender and receiver list different parts of one message.
  deadlock,                  ///< Ranks wait for each other if nothing is buffered.
  race,                      ///< Two steps of a round use one slot and are not one fold.
  stale_input,               ///< Reads `in` where `out`, in place the same memory, was overwritten.
  unwritten_read,            ///< Reads a slot that holds nothing.
  counted_twice,             ///< A contribution enters a result twice.
  missing_contribution,      ///< A result lacks a contribution.
  wrong_result,              ///< A result slot holds nothing, or another rank's data.
  finished_twice,            ///< A value is finished a second time.
  finished_operand,          ///< A finished value is reduced further.
  not_finished,              ///< A result was never finished.
  finish_without_reduction,  ///< A Finish in a collective that reduces nothing.
  operand_order,             ///< Claimed `ordered`, but operands change places.
  not_rank_identical,        ///< Claimed `rank_identical`, but ranks hold different trees.
  not_size_invariant,        ///< Claimed `size_invariant`, but units hold different trees.
  not_same_tree,             ///< Claimed `same_tree_as`, but the trees differ.
  not_rotational,            ///< Claimed `rotational`, but a rank is not rank 0 shifted.
  foreign_counts,            ///< Claimed `own_counts_only`, but a foreign block is touched.
  out_of_step,               ///< Claimed `lockstep`, but ranks cannot run their rounds together.
  too_little_claimed,        ///< A trait holds more widely than its row claims.
  build_failed,              ///< A generator threw for a shape that its row admits.
};

/// Number of enumerators of CheckKind.
inline constexpr int kCheckKinds = 29;

/// @return the name of a check, such as "counted_twice".
[[nodiscard]] std::string_view name_of(CheckKind kind) noexcept;

/// One fault.
struct Finding {
  CheckKind kind{};          ///< Which check failed.
  std::string message{};     ///< Algorithm, ranks, root, rank, round, slot, and the fault.
  Rank rank = -1;            ///< The rank, or -1 if none is known.
  std::int64_t round = -1;   ///< The round, or -1.
  std::int64_t slot = -1;    ///< The slot, or -1.
  Space space = Space::out;  ///< The space of the slot.
};

/// Whether a property holds, and a counterexample.
struct Property {
  bool holds = true;             ///< True if no counterexample was found.
  std::string counterexample{};  ///< The first one; empty if it holds.
};

/// Facts about schedules that were proved correct.
struct Facts {
  std::size_t rounds = 0;         ///< Most rounds of any rank.
  std::size_t messages = 0;       ///< Messages of all ranks.
  std::uint64_t units_sent = 0;   ///< Most units that one rank sends.
  std::uint32_t units = 1;        ///< Units of the vector; in an all_to_all, of one rank's.
  std::size_t scratch_slots = 0;  ///< Most scratch slots that one rank uses.
  Property ordered{};             ///< Operands stay in the order of ranks.
  Property rank_identical{};      ///< All ranks hold the same tree of each unit.
  Property size_invariant{};      ///< All units hold the same tree.
  Property rotational{};          ///< Rank r's schedule is rank 0's, shifted by r.
  Property own_counts_only{};     ///< Ranks touch only blocks that they have or want.
  Property lockstep{};            ///< Ranks can go through their rounds together.
  /// Digest of the expression trees of all ranks' results, if size_invariant holds. Schedules with
  /// equal trees have equal digests.
  std::uint64_t tree = 0;

  /// @return bytes that the busiest rank sends, in vectors.
  [[nodiscard]] double vectors_sent() const noexcept {
    return static_cast<double>(units_sent) / static_cast<double>(units);
  }
};

/// Claims about schedules, besides correctness.
struct Claims {
  bool ordered = false;          ///< See Traits::ordered.
  bool rank_identical = false;   ///< See Traits::rank_identical.
  bool size_invariant = false;   ///< See Traits::size_invariant.
  bool rotational = false;       ///< See Traits::rotational.
  bool own_counts_only = false;  ///< See Traits::own_counts_only.
  bool lockstep = false;         ///< See Traits::lockstep.
  std::uint64_t tree = 0;        ///< Facts::tree that the schedules must have; 0 for any.
};

/// Schedules to prove.
struct Question {
  Contract contract{};                    ///< The contract of all schedules together.
  std::span<const Schedule> schedules{};  ///< One per rank.
  Claims claims{};                        ///< Further claims to prove.
  std::string_view name = "schedule";     ///< The name in findings, such as "ring".
};

/// The answer.
struct Verdict {
  std::vector<Finding> findings{};  ///< Empty if everything is proved.
  Facts facts{};                    ///< Meaningful if there are no findings.

  /// @return true if everything is proved.
  [[nodiscard]] bool proved() const noexcept { return findings.empty(); }
};

/// Proves schedules. It keeps its workspace from one question to the next.
///
/// The proof is a symbolic execution with strict rounds and without any buffering: a rank posts all
/// messages of a round at once, a message moves when both ends have posted it, and the next round
/// starts when all have moved. Values are expressions over the ranks' contributions.
class Verifier {
 public:
  Verifier();
  ~Verifier();
  Verifier(Verifier&&) noexcept;
  Verifier& operator=(Verifier&&) noexcept;

  /// Bad schedules are findings. Throws Error{invalid_argument} only for schedules that are too
  /// large: 2^28 slots on all ranks together.
  [[nodiscard]] Verdict verify(const Question& question);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

/// Verifies schedules of the caller. @param schedules one per rank.
[[nodiscard]] TUTTI_API Verdict verify_schedules(const Contract& contract,
                                                 std::span<const Schedule> schedules);

}  // namespace tutti::v0
