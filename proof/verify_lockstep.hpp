/// @file
/// Internal to the verifier: whether all ranks can go through their rounds together.
#pragma once

#include <span>

#include "verify.hpp"

namespace tutti::verifying {

/// Whether rounds can be given numbers that grow on each rank, so that every message is sent and
/// received in rounds of the same number. Then a rank may hold back what it sends or receives in a
/// round until all of that round's messages have come. @param schedules of all ranks, proved.
/// @return whether there are such numbers. O(steps log steps).
[[nodiscard]] Property check_lockstep(std::span<const Schedule> schedules);

}  // namespace tutti::verifying
