/// @file
/// Whether hosts have the memory that a measurement needs.
#pragma once

#include "perf/sweep/context.hpp"

namespace tutti::perf {

/// Throws Failure{usage} on all ranks alike where a host lacks memory for its ranks. Collective.
/// @param world the ranks. @param context where they are. @param bytes that each of them needs.
/// @param what needs them, such as "10 settings of vgg16".
void check_memory(MeasuredWorld& world, const Context& context, double bytes,
                  const std::string& what);

}  // namespace tutti::perf
