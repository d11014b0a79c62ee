/// @file
/// The interpreter that predicts the cost of a schedule on a single switch, in integers.
///
/// In each round a rank pays alpha per message sent, beta per byte of the larger of in and out, and
/// gamma per byte reduced. A round starts when the rank has paid for the messages of all earlier
/// rounds, and when those that use the same slots have ended (all of them if the schedule is
/// paced). A message arrives no earlier than its sender has paid for the round that sent it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/costs.hpp>

namespace tutti::v0 {

/// Work in sequence: along a path of the data flow, or at one rank.
struct Work {
  std::int64_t messages = 0;  ///< Messages sent.
  std::int64_t moved = 0;     ///< Size of the larger of in and out.
  std::int64_t reduced = 0;   ///< Size of reduced operands.
  std::int64_t received = 0;  ///< Size of in, all that moves if receivers read messages in place.
  std::int64_t stored = 0;    ///< Size of its results, if a round's operands are read in one pass.
  std::int64_t passed = 0;    ///< Sum of in and out, if a rank moves one after the other.
  /// Equality of all members.
  friend bool operator==(const Work&, const Work&) = default;
};

/// @param work with sizes in bytes. @return its cost.
[[nodiscard]] Femtoseconds price(const Work& work, const LinkCosts& costs) noexcept;

/// The cost of a choice on a number of ranks, for all lengths at once: sizes are in units.
struct Profile {
  std::uint32_t units = 1;  ///< Units of the whole vector.
  std::size_t rounds = 0;   ///< The maximum over ranks of rounds with messages.
  Work path{};              ///< The longest path, for each member separately.
  Work busiest{};           ///< The maximum over ranks, for each member separately.
  Work all{};               ///< The sum over ranks.
  bool one_way = false;     ///< Whether no rank waits for one that waits for it, directly or not.

  /// The predicted time. Segments follow each other at the rate of the busiest rank; if costs
  /// overlap, at the rate of its slowest part: messages, bytes or reductions. If they do not
  /// overlap, no rank ends before all its own work in sequence would. If ranks share cores and data
  /// flows one way, successive calls follow each other like segments: the first rank does not wait
  /// for the last, and uses its core for the next call. Then only the work of the busiest rank
  /// counts, and the work of all ranks on the shared cores, unless messages wait until they are
  /// read.
  /// @param bytes of the whole vector: of all blocks, so n times a rank's own in an all_gather and
  ///        n times a rank's input in an all_to_all.
  /// @param segment_bytes of the whole vector that travel at a time; 0 for all of it.
  /// @return the time; exact if the units divide the bytes, else rounded up.
  [[nodiscard]] Femtoseconds time(std::size_t bytes, std::size_t segment_bytes,
                                  const LinkCosts& costs) const noexcept;
  /// Equality of all members.
  friend bool operator==(const Profile&, const Profile&) = default;
};

/// Profiles a choice. Builds one rank's schedule if the algorithm is rotational, else all.
/// @param size number of ranks. @param root 0 if there is none. Throws what the generator throws.
[[nodiscard]] Profile profile_of(const Choice& choice, int size, Rank root);

/// Profiles schedules of the caller. @param schedules of all ranks, in the order of ranks. Throws
/// Error{invalid_argument} if a receive has no send.
[[nodiscard]] Profile profile_of(std::span<const Schedule> schedules);

/// The time of one run, with the exact sizes of its parts.
/// @param schedules of all ranks, in the order of ranks.
/// @param block_bytes of each block: one, one per rank or one per pair, see Contract::blocks.
/// @param element_bytes the size of an element; parts of a block consist of whole elements. @return
/// the end of the last rank. Throws Error{invalid_argument}.
[[nodiscard]] Femtoseconds predict_exact(std::span<const Schedule> schedules,
                                         std::span<const std::size_t> block_bytes,
                                         std::size_t element_bytes, const LinkCosts& costs);

}  // namespace tutti::v0
