// The public entry points.
#include <tutti/mpi.hpp>

#include "transport.hpp"

namespace tutti::mpi {

std::unique_ptr<Transport> make_transport(MPI_Comm comm, const Options& options) {
  return std::make_unique<MpiTransport>(make_group(comm, options), options);
}

Communicator communicator(MPI_Comm comm, const CommunicatorOptions& options,
                          const Options& transport) {
  return Communicator::create(make_transport(comm, transport), make_host_memory(), options);
}

}  // namespace tutti::mpi
