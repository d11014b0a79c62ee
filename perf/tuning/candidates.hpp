/// @file
/// What `tutti tune` measures: choices with the parameters that are worth a try, without those that
/// the prediction rules out.
#pragma once

#include <vector>

#include "perf/measured_world.hpp"
#include "perf/sweep/candidates.hpp"

namespace tutti::perf {

/// How many times the least predicted time a choice may take and still be measured: predictions are
/// wrong by less.
inline constexpr double kDoubtful = 4;

/// Collective. @param world the ranks. @param workload of one size. @param visible as
/// Options::visible. @return every choice that the model cannot rule out, with segments of several
/// lengths where it is run in segments; then auto, which is what the model chooses.
[[nodiscard]] std::vector<Candidate> doubtful_candidates(MeasuredWorld& world,
                                                         const Workload& workload, bool visible);

}  // namespace tutti::perf
