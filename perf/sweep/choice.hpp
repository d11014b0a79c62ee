/// @file
/// Why a plain call runs what it runs, for a sweep's files.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "perf/measured_world.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// @param world the ranks. @param workload a collective of one size. @param visible as
/// Options::visible. @return the JSON record: what was chosen, on what grounds, and for each
/// candidate its prediction or why it cannot serve. On GPUs the candidates are our algorithms, and
/// "native" may be chosen beside them.
[[nodiscard]] nlohmann::ordered_json choice_of(MeasuredWorld& world, const Workload& workload,
                                               bool visible);

}  // namespace tutti::perf
