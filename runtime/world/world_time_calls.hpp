/// @file
/// Times plain calls among the ranks of rank 0's host, once per machine.
#pragma once

#include <string>

#include "world.hpp"

namespace tutti::runtime {

/// Collective. Unless an earlier start timed as many ranks, the ranks of rank 0's host time their
/// calls; rank 0 writes the times to a file and sends them to all ranks, which add them to their
/// shared_config. Calls that cannot be timed do not fail the start. @param path of rank 0's file.
/// @param deadline of the start.
void time_calls_once(World& world, const std::string& path, Deadline deadline);

}  // namespace tutti::runtime
