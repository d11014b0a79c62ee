/// @file
/// Errors about missing ranks: which ones, on which hosts, after which time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// @return a text such as "30 s" or "0.5 s".
[[nodiscard]] std::string seconds_text(std::chrono::steady_clock::duration time);

/// @param ranks at least one. @return such as "rank 2" or "ranks 1, 2 and 5".
[[nodiscard]] std::string ranks_text(const std::vector<Rank>& ranks);

/// Ranks that have another world size than rank 0.
struct WrongSize {
  std::vector<Rank> ranks{};  ///< At least one.
  std::string theirs{};       ///< Their world size.
  std::string rank_0{};       ///< The name of rank 0.
  std::string own{};          ///< The world size of rank 0.
  std::size_t agreeing = 1;   ///< The number of ranks that agree with rank 0, including itself.
};
/// @return Error{mismatch} such as "ranks 1 and 2 count 5 ranks, but rank 0 (host a) counts 3:
/// wrong world size"; its culprit is a rank of the minority.
[[nodiscard]] Error wrong_size(const WrongSize& wrong);

/// The ranks that are missing at a deadline.
struct MissingRanks {
  Rank self;  ///< The rank that waited.
  std::chrono::steady_clock::duration waited;
  std::vector<Rank> missing;  ///< The ranks that it waited for; empty: unknown.
  /// The host of each rank; an empty name is unknown.
  std::vector<std::string> hosts;
  std::string where{};  ///< The channel, for the error; may be empty.
};
/// @return Error{timeout} such as "rank 0 waited 30 s for ranks 2 and 3 of 4; present: 0 (host a),
/// 1 (host b)"; its culprit is the first missing rank. All channels and the mesh use this text.
[[nodiscard]] Error missing_ranks(const MissingRanks& known);

/// @param rank that ended before it joined. @param host empty: unknown. @param how such as "exited
/// with status 3"; empty: unknown. @return Error{peer_dead} such as "rank 2 (host a) has ended and
/// did not join the world: it exited with status 3".
[[nodiscard]] Error ended_rank(Rank rank, const std::string& host, const std::string& how);

}  // namespace tutti::runtime
