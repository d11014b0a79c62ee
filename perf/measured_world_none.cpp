// The world of a command that is built without an MPI.
#include "perf/failure.hpp"
#include "perf/measured_world.hpp"

namespace tutti::perf {

std::unique_ptr<MeasuredWorld> join_world(const std::string& transport,
                                          const CommunicatorOptions& options) {
  if (!is_of_mpi(transport)) return join_own_world(transport, options);
  throw Failure{ExitCode::environment,
                "--transport " + transport +
                    " needs an MPI, and this program was built without one: install "
                    "openmpi-bin and libopenmpi-dev (or mpich and libmpich-dev), then build again"};
}

void end_job(int) noexcept {}

std::string linked_mpi() {
  return {};
}

}  // namespace tutti::perf
