/// @file
/// The selector's choice for a plain call and its reasons, for a sweep's files.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "perf/measured_world.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// @param visible as Options::visible. @return the JSON record: the chosen algorithm, the source of
/// its time, and for each candidate its prediction or the reason why it cannot run. On GPUs the
/// candidates are tutti's algorithms, and the choice may also be "native".
[[nodiscard]] nlohmann::ordered_json choice_of(MeasuredWorld& world, const Workload& workload,
                                               bool visible);

}  // namespace tutti::perf
