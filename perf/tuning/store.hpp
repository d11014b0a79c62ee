/// @file
/// Rank 0 of a measurement reads and writes the tuning file.
#pragma once

#include <string>

#include "perf/measured_world.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// Collective. Throws Failure{usage} if the file is malformed or of another machine. @param path of
/// the file, which may be missing. @return on rank 0 the contents; an empty tuning of this machine
/// on the others, or if the file is missing.
[[nodiscard]] detail::Tuning load_tuning(MeasuredWorld& world, const std::string& path);

/// Writes the file on rank 0, and makes the folder if it is the default one. Throws
/// Failure{environment} if that fails.
void save_tuning(const detail::Tuning& tuning, const std::string& path);

}  // namespace tutti::perf
