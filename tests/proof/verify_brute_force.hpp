/// @file
/// Runs schedules on numbers, by simple means that share nothing with the verifier: the oracle of
/// the mutation test.
#pragma once

#include "verify_samples.hpp"

namespace tutti::samples {

/// Runs with strict rounds and no buffering, once out of place and once in place, with the local
/// steps of a round in both orders.
/// @param sample schedules to run. @param ordered whether the operator must not commute.
/// @return whether every run ends, and with the right numbers on all ranks.
bool runs_right(const Sample& sample, bool ordered);

}  // namespace tutti::samples
