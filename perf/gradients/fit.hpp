/// @file
/// Checks that hosts have enough memory for a measurement.
#pragma once

#include "perf/sweep/context.hpp"

namespace tutti::perf {

/// Throws Failure{usage} on all ranks if a host lacks memory for its ranks. Collective. @param
/// bytes per rank. @param what for the error, such as "10 settings of vgg16".
void check_memory(MeasuredWorld& world, const Context& context, double bytes,
                  const std::string& what);

}  // namespace tutti::perf
