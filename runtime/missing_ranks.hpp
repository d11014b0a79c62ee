/// @file
/// Words for what is missing: which ranks, on which hosts, after how long.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// @param time any span. @return such as "30 s" or "0.5 s".
[[nodiscard]] std::string seconds_text(std::chrono::steady_clock::duration time);

/// @param ranks at least one. @return such as "rank 2" or "ranks 1, 2 and 5".
[[nodiscard]] std::string ranks_text(const std::vector<Rank>& ranks);

/// Ranks that count other ranks than rank 0.
struct WrongSize {
  std::vector<Rank> ranks{};  ///< At least one.
  std::string theirs{};       ///< What they count.
  std::string rank_0{};       ///< What to call rank 0.
  std::string own{};          ///< What it counts.
  std::size_t fitting = 1;    ///< How many ranks count the same, rank 0 among them.
};
/// @param wrong who. @return Error{mismatch} such as "ranks 1 and 2 count 5 ranks, but rank 0 (host
/// a) counts 3: wrong world size"; its culprit is of the fewer.
[[nodiscard]] Error wrong_size(const WrongSize& wrong);

/// Who is there when not all are.
struct MissingRanks {
  Rank self;                                   ///< Who waited.
  std::chrono::steady_clock::duration waited;  ///< For how long.
  std::vector<Rank> missing;                   ///< Whom it waited for; empty where nobody can tell.
  /// What the ranks' hosts are called; empty where not known. One per rank of the world.
  std::vector<std::string> hosts;
  std::string where{};  ///< What they were to come together over, if that is to be said.
};
/// @param known what is known. @return Error{timeout} such as "rank 0 waited 30 s for ranks 2 and 3
/// of 4; present: 0 (host a), 1 (host b)"; its culprit is the first missing rank. Every channel and
/// the mesh say it so.
[[nodiscard]] Error missing_ranks(const MissingRanks& known);

/// @param rank that ended before it joined. @param host what its host is called; empty where not
/// known. @param how such as "exited with status 3"; empty where not known. @return
/// Error{peer_dead} such as "rank 2 (host a) has ended and did not join the world: it exited with
/// status 3".
[[nodiscard]] Error ended_rank(Rank rank, const std::string& host, const std::string& how);

}  // namespace tutti::runtime
