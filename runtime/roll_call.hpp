/// @file
/// Words for what is missing: which ranks, on which hosts, after how long.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <tutti/channel.hpp>

namespace tutti::runtime {

/// @param time any span. @return such as "30 s" or "0.5 s".
[[nodiscard]] std::string seconds_text(std::chrono::steady_clock::duration time);

/// Who is there when not all are.
struct RollCall {
  Rank self;                                   ///< Who waited.
  std::chrono::steady_clock::duration waited;  ///< For how long.
  std::vector<Rank> missing;                   ///< Whom it waited for; empty where nobody can tell.
  /// What the ranks' hosts are called; empty where not known. One per rank of the world.
  std::vector<std::string> hosts;
  std::string where{};  ///< What they were to come together over, if that is to be said.
};
/// @param roll what is known. @return Error{timeout} such as "rank 0 waited 30 s for ranks 2 and 3
/// of 4; present: 0 (host a), 1 (host b)"; its culprit is the first missing rank. Every channel and
/// the mesh say it so.
[[nodiscard]] Error missing_ranks(const RollCall& roll);

}  // namespace tutti::runtime
