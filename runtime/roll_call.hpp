/// @file
/// Words for what is missing: which ranks, on which hosts, after how long.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <tutti/channel.hpp>

namespace tutti::runtime {

/// @param time any span. @return such as "30 s" or "0.5 s".
[[nodiscard]] std::string seconds_text(std::chrono::steady_clock::duration time);
/// @param ranks at least one. @return such as "rank 3", "ranks 2 and 3", "ranks 1, 4 and 9"; of
/// many, the first ones and how many more.
[[nodiscard]] std::string ranks_text(std::span<const Rank> ranks);

/// Who is there when not all are.
struct RollCall {
  Rank self;                                   ///< Who waited.
  std::chrono::steady_clock::duration waited;  ///< For how long.
  std::vector<Rank> missing;                   ///< Whom it waited for; at least one.
  /// What the ranks' hosts are called; empty where not known. One per rank of the world.
  std::vector<std::string> hosts;
};
/// @param roll what is known. @return Error{timeout} such as "rank 0 waited 30 s for ranks 2 and 3
/// of 4; present: 0 (host a), 1 (host b)"; its culprit is the first missing rank.
[[nodiscard]] Error missing_ranks(const RollCall& roll);

}  // namespace tutti::runtime
