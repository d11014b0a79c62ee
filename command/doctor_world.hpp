/// @file
/// The checks of `tutti doctor` that all ranks make together.
#pragma once

#include <vector>

#include <tutti/communicator.hpp>

#include "command/doctor_check.hpp"

namespace tutti::command::doctor {

/// Collective. @return the checks of the connections and cores of a world; those of connections on
/// rank 0 only, which measures them.
[[nodiscard]] std::vector<Check> checks_of_world(Communicator& communicator);

}  // namespace tutti::command::doctor
