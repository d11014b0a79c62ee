/// @file
/// Tuning files as MPICH's selection files.
#pragma once

#include <string>

#include "perf/tuning/export_tuning.hpp"

namespace tutti::perf {

/// A loaded file replaces all of MPICH's own choices, so it has rules for every call. @param
/// library a version of MPICH. @return its selection file.
[[nodiscard]] std::string for_mpich(const Library& library, const Exported& exported,
                                    const std::string&);

}  // namespace tutti::perf
