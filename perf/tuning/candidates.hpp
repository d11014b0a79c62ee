/// @file
/// The candidates of `tutti tune`: algorithms with useful parameters, without those that the
/// prediction rules out.
#pragma once

#include <vector>

#include "perf/measured_world.hpp"
#include "perf/sweep/candidates.hpp"

namespace tutti::perf {

/// A choice is measured if its predicted time is at most this factor above the least one. Errors of
/// predictions are smaller.
inline constexpr double kDoubtful = 4;

/// Collective. @param visible as Options::visible. @return every choice that the model cannot rule
/// out, with segments of several lengths if it has segments; then auto, which is the choice of the
/// model.
[[nodiscard]] std::vector<Candidate> doubtful_candidates(MeasuredWorld& world,
                                                         const Workload& workload, bool visible);

}  // namespace tutti::perf
