// The world of ranks that an MPI launched, and of others.
#include <fmt/format.h>

#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/measured_world.hpp"
#include "perf/mpi/library.hpp"

namespace tutti::perf {
namespace {

// If the launcher belongs to another MPI than the one loaded, each process is rank 0 of 1.
void check_launch(const LoadedMpi& mpi, int size) {
  const int launched = launched_size().value_or(1);
  if (launched == size || launched == 1) return;
  const std::string library = mpi.module->library();
  mpi.module->finalise();
  throw Failure{ExitCode::environment,
                fmt::format("the launcher ({}) started {} ranks, but the MPI that was loaded ({}, "
                            "{}) sees {}: they are "
                            "different MPIs; use its launcher, or set TUTTI_MPI_LIBRARY to the "
                            "library of the launcher's MPI",
                            launcher_name(), launched, library, mpi.path, size)};
}

}  // namespace

std::unique_ptr<MeasuredWorld> join_world(const std::string& transport,
                                          const CommunicatorOptions& options) {
  if (!is_of_mpi(transport) && !is_mpi_launch()) return join_own_world(transport, options);
  const LoadedMpi& mpi = loaded_mpi();
  if (mpi.module == nullptr) {
    if (is_of_mpi(transport))
      throw Failure{ExitCode::environment,
                    fmt::format("--transport {} needs an MPI: {}", transport, mpi.why)};
    if (launched_rank().value_or(0) == 0)
      print_warning("the launcher's MPI is not measured: " + mpi.why);
    return join_own_world(transport, options);
  }
  check_launch(mpi, mpi.module->initialise());
  return mpi.module->join(transport, options, print_warning);
}

void end_job(int exit_code) noexcept {
  // Some launchers watch only processes that have called MPI_Init. `tutti run` watches all.
  const bool watches = is_mpi_launch() && launched_size().value_or(1) > 1;
  if (!has_loaded_mpi() && !watches) return;
  if (const MpiModule* const module = loaded_mpi().module) module->end_job(exit_code, watches);
}

}  // namespace tutti::perf
