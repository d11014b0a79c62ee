/// @file
/// What makes an MPI use another algorithm, for people to try.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tutti/types.hpp>

#include "perf/tuning/export_counterparts.hpp"

namespace tutti::perf {

/// @param library name and version of an MPI, as MeasuredWorld::library says. @return which one it
/// is, if its choices can be configured.
[[nodiscard]] std::optional<Library> library_named(std::string_view library);

/// @param library an MPI. @param algorithm row of our catalog. @return settings for the launch that
/// make the MPI use its counterpart of the algorithm, for all sizes; empty where it has none.
[[nodiscard]] std::string override_for(Library library, Collective collective,
                                       std::string_view algorithm);

}  // namespace tutti::perf
