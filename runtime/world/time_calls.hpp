/// @file
/// Times plain calls among the ranks of a host, for predictions of time.
#pragma once

#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "selector/tuning.hpp"

namespace tutti::runtime {

/// The times, or the reason why there are none.
struct TimedCalls {
  std::vector<detail::TunedTable> tables{};  ///< On rank 0.
  std::string refusal{};  ///< On rank 0: why the times are not usable; empty if they are.
};

/// Collective: runs plain calls of detail::kTimedCollectives at a few sizes in a row, as a loop of
/// a program does, for at most 40 ms. Each time is a median over short rounds, of the slowest rank.
/// @param group ranks that share memory, each with a core of its own. @return the result on rank 0.
/// Throws errors of the calls.
[[nodiscard]] TimedCalls time_calls(Communicator& group);

}  // namespace tutti::runtime
