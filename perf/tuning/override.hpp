/// @file
/// Settings that make an MPI use another algorithm, for tests by users.
#pragma once

#include <string>
#include <string_view>

#include <tutti/types.hpp>

#include "perf/tuning/libraries.hpp"

namespace tutti::perf {

/// @param mpi its name and version, as MeasuredWorld::library returns them. @return its row of
/// libraries.json; an empty one if its algorithms cannot be configured.
[[nodiscard]] Library library_of(std::string_view mpi);

/// @param library an MPI. @param algorithm row of tutti's catalog. @return settings for the launch
/// that make the MPI use its counterpart for all sizes; empty if it has none.
[[nodiscard]] std::string override_for(const Library& library, Collective collective,
                                       std::string_view algorithm);

}  // namespace tutti::perf
