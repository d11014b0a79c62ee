/// @file
/// The MPI that the command loads when it is asked for: which library, and the module of its binary
/// interface.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perf/mpi/module.hpp"
#include "runtime/launch/config.hpp"

namespace tutti::perf {

/// MPIs of one binary interface: a program compiled with one of them runs with each.
struct MpiFamily {
  std::string_view name;                        ///< As in the file name of its module.
  std::string_view members;                     ///< For messages.
  std::span<const std::string_view> libraries;  ///< File names, the usual one first.
};

/// @return all families. Without a launcher the first whose library is found is loaded.
[[nodiscard]] std::span<const MpiFamily> mpi_families() noexcept;

/// @return the families that may belong to the launcher whose variables are set: one, or all.
[[nodiscard]] std::vector<const MpiFamily*> families_of_launcher(
    const runtime::Environment& environment);

/// @param launchers executables of the parents of this process, the nearest first. @return what to
/// load, the best first: paths beside those that are launchers, then names for the search of the
/// dynamic linker. One name only if TUTTI_MPI_LIBRARY is set.
[[nodiscard]] std::vector<std::string> mpi_libraries(
    const runtime::Environment& environment, std::span<const std::filesystem::path> launchers);

/// The MPI of this process.
struct LoadedMpi {
  const MpiModule* module = nullptr;  ///< Null if none was loaded.
  std::string path{};                 ///< The file of the MPI's library.
  std::string family{};
  std::string why{};  ///< Why none was loaded; empty if one was.
};

/// Loads the MPI at the first call. Not safe for several threads.
[[nodiscard]] const LoadedMpi& loaded_mpi();

/// @return whether a call of loaded_mpi has loaded one.
[[nodiscard]] bool has_loaded_mpi() noexcept;

/// @return the names of the families whose modules are installed.
[[nodiscard]] std::vector<std::string> installed_mpi_modules();

}  // namespace tutti::perf
