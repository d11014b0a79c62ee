/// @file
/// Ranks of a simulated cluster that may wait: each is a thread, and they take turns, so that as
/// ever one thread at a time uses the cluster, in an order that the seed decides.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "backends/sim/sim.hpp"

namespace tutti::harness {

/// Runs a body on every rank. A rank's turn ends when a poll brings it nothing. When nobody gets
/// on, time passes, so that who waits for ever meets its deadline.
/// @param cluster how it is made. @param body what each rank does. @return the Error that ended it
/// on each rank, in words; empty if none did.
[[nodiscard]] std::vector<std::string> run_in_turns(const sim::ClusterOptions& cluster,
                                                    const std::function<void(Communicator&)>& body);

}  // namespace tutti::harness
