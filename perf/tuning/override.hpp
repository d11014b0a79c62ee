/// @file
/// Settings that make an MPI use another algorithm, for tests by users.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tutti/types.hpp>

#include "perf/tuning/export_counterparts.hpp"

namespace tutti::perf {

/// @param library name and version of an MPI, as MeasuredWorld::library returns them. @return the
/// library, if its algorithms can be configured.
[[nodiscard]] std::optional<Library> library_named(std::string_view library);

/// @param library an MPI. @param algorithm row of tutti's catalog. @return settings for the launch
/// that make the MPI use its counterpart for all sizes; empty if it has none.
[[nodiscard]] std::string override_for(Library library, Collective collective,
                                       std::string_view algorithm);

}  // namespace tutti::perf
