/// @file
/// A collective on all ranks of a communicator, a thread for each.
#pragma once

#include <span>
#include <string>

#include <tutti/communicator.hpp>

#include "experiment.hpp"

namespace tutti::harness {

/// Runs a case, and compares with an oracle that shares no code with it. @param ranks of the
/// communicator, all of them. @param what the case. @return what went wrong, if anything did.
[[nodiscard]] std::string run_in_threads(std::span<Communicator> ranks, const Case& what);

}  // namespace tutti::harness
