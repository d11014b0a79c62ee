/// @file
/// A module of an MPI: the mpi backend, compiled once for all MPIs of one binary interface. It calls the
/// MPI that the command has loaded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/version.hpp>

#include "perf/measured_world.hpp"

namespace tutti::perf {

/// The version of tutti: a module fits the command that was built with it.
inline constexpr int kMpiModuleVersion =
    (kVersionMajor * 1000 + kVersionMinor) * 1000 + kVersionPatch;

/// The functions of a module. They are called after the MPI was loaded, and by one thread.
struct MpiModule {
  int version;  ///< kMpiModuleVersion; the command rejects another one.
  /// Initialises the MPI. @return the number of ranks.
  int (*initialise)();
  /// Finalises the MPI. Only for a failure before `join`: the world that `join` returns does so.
  void (*finalise)() noexcept;
  /// The parameters are those of join_world. Throws Error.
  std::unique_ptr<MeasuredWorld> (*join)(const std::string& transport,
                                         const CommunicatorOptions& options,
                                         void (*warn)(std::string_view));
  /// Ends all ranks at once, those too that have not been joined. Returns if the MPI is finalised.
  /// @param initialises whether it first initialises the MPI if nobody has.
  void (*end_job)(int exit_code, bool initialises) noexcept;
  /// @return name and version of the MPI, one line.
  std::string (*library)();
};

/// The name under which a module exports its MpiModule.
inline constexpr const char* kMpiModuleSymbol = "tutti_mpi_module";

}  // namespace tutti::perf
