/// @file
/// The tuning file as rank 0 of a measurement reads and writes it.
#pragma once

#include <string>

#include "perf/measured_world.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// Collective. Throws Failure{usage} where the file is malformed or of another machine.
/// @param world the ranks. @param path of the file, which need not exist. @return what it says, on
/// rank 0; what a new one of this machine would say, on the others and without one.
[[nodiscard]] detail::Tuning load_tuning(MeasuredWorld& world, const std::string& path);

/// Writes it, on rank 0. Throws Failure{environment} where it cannot be written. @param tuning
/// what to keep. @param path of the file; folders are made.
void save_tuning(const detail::Tuning& tuning, const std::string& path);

}  // namespace tutti::perf
