/// @file
/// Tuning files as MPICH's selection files.
#pragma once

#include <string>

#include "perf/tuning/export_tuning.hpp"

namespace tutti::perf {

/// A loaded file replaces all of MPICH's own choices, so it has rules for every call. @param
/// exported for Library::mpich. @return a selection file of MPICH 4.0.
[[nodiscard]] std::string for_mpich(const Exported& exported, const std::string&);
/// @param exported for Library::mpich5. @return a selection file of MPICH 4.1 to 5.0.
[[nodiscard]] std::string for_mpich5(const Exported& exported, const std::string&);

}  // namespace tutti::perf
