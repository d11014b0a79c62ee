/// @file
/// Times plain calls among the ranks of a host: what predictions of time rest on.
#pragma once

#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "selector/tuning.hpp"

namespace tutti::runtime {

/// The times, or why there are none.
struct TimedCalls {
  std::vector<detail::TunedTable> tables{};  ///< On rank 0: cells of the timed collectives.
  std::string refusal{};  ///< On rank 0: why the times say nothing, for a person; empty if they do.
};

/// Collective: runs plain calls of detail::kTimedCollectives at a few sizes in a row, as a loop of
/// a program does, for about 40 ms at the most. Each time is a median over short rounds, of the
/// slowest rank. @param group ranks that share memory, each of which has a core. @return what rank
/// 0 makes of them. Throws what the calls throw.
[[nodiscard]] TimedCalls time_calls(Communicator& group);

}  // namespace tutti::runtime
