/// @file
/// The interpreter that predicts: what a schedule costs on a single switch, in integers.
///
/// A rank pays per round alpha for each message sent, beta per byte of the larger of in and out,
/// and gamma per byte reduced. Its round starts when it has paid for what the earlier ones send and
/// receive, and those have ended that touch what it touches, or all of them if the schedule is
/// paced; it has received a message no earlier than the sender has paid for the round that sent it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/costs.hpp>

namespace tutti::v0 {

/// What happens one after the other: on a path through the data flow, or at one rank.
struct Work {
  std::int64_t messages = 0;  ///< Messages sent.
  std::int64_t moved = 0;     ///< Size of the larger of in and out.
  std::int64_t reduced = 0;   ///< Size of reduced operands.
  std::int64_t received = 0;  ///< Size of in alone, which is all there is to move where receivers
                              ///< read what is sent.
  std::int64_t stored = 0;    ///< Size of what that becomes, where operands of a round are read in
                              ///< one pass.
  std::int64_t passed = 0;    ///< Sum of in and out, where a rank moves one after the other.
  /// Equality of all members.
  friend bool operator==(const Work&, const Work&) = default;
};

/// @param work with sizes in bytes. @param costs the prices. @return what it costs.
[[nodiscard]] Femtoseconds price(const Work& work, const LinkCosts& costs) noexcept;

/// The cost of a choice on a number of ranks, for all lengths at once: sizes are in units.
struct Profile {
  std::uint32_t units = 1;  ///< Units of the whole vector.
  std::size_t rounds = 0;   ///< The most rounds with messages that a rank has.
  Work path{};              ///< The longest path, each component by itself.
  Work busiest{};           ///< The most that any rank does, each component by itself.
  Work all{};               ///< What the ranks do together.
  bool one_way = false;     ///< Whether no rank waits for one that waits for it.

  /// The predicted time. Segments follow each other as fast as the busiest rank gets rid of them;
  /// where costs overlap, as fast as its slowest part: messages, bytes or reductions. Where they do
  /// not, no rank is done before all that it does itself would be, one after the other. Where ranks
  /// share cores, calls that flow one way follow each other like that too: whoever is first does
  /// not wait for the last, and has the core for the next call while that one has not, so that only
  /// what the busiest rank does counts, and what all do on the cores that there are; but not where
  /// messages wait until they are read.
  /// @param bytes of the whole vector: of all blocks, so n times a rank's own in an all_gather and
  ///        n times a rank's input in an all_to_all.
  /// @param segment_bytes of the whole vector that travel at a time; 0 for all of it.
  /// @param costs the prices. @return the time; exact where the units divide the bytes, else
  ///         rounded up.
  [[nodiscard]] Femtoseconds time(std::size_t bytes, std::size_t segment_bytes,
                                  const LinkCosts& costs) const noexcept;
  /// Equality of all members.
  friend bool operator==(const Profile&, const Profile&) = default;
};

/// Profiles a choice. Builds one rank's schedule if the algorithm is rotational, else all.
/// @param choice the algorithm with its parameters. @param size number of ranks. @param root the
/// root, 0 where there is none. @return the profile. Throws what the generator throws.
[[nodiscard]] Profile profile_of(const Choice& choice, int size, Rank root);

/// Profiles schedules of one's own. @param schedules of all ranks, in the order of ranks.
/// @return the profile. Throws Error{invalid_argument} where a receive has no send.
[[nodiscard]] Profile profile_of(std::span<const Schedule> schedules);

/// The time of one run, with the sizes its parts really have.
/// @param schedules of all ranks, in the order of ranks.
/// @param block_bytes of each block: one, one per rank or one per pair, see Contract::blocks.
/// @param element_bytes parts of a block are cut between elements of this size.
/// @param costs the prices. @return when the last rank is done. Throws Error{invalid_argument}.
[[nodiscard]] Femtoseconds predict_exact(std::span<const Schedule> schedules,
                                         std::span<const std::size_t> block_bytes,
                                         std::size_t element_bytes, const LinkCosts& costs);

}  // namespace tutti::v0
