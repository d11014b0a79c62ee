/// @file
/// Internal to the verifier: whether all ranks can go through their rounds together.
#pragma once

#include <span>

#include "verify.hpp"

namespace tutti::verifying {

/// Checks whether rounds can be numbered, ascending on each rank, so that every message is sent and
/// received in rounds of the same number. Then a rank may delay the operations of a round until all
/// messages of that round have arrived. @param schedules of all ranks, proved. @return whether
/// there are such numbers. O(steps log steps).
[[nodiscard]] Property check_lockstep(std::span<const Schedule> schedules);

}  // namespace tutti::verifying
