/// @file
/// Waiting for operations of MPI that all ranks take part in.
#pragma once

#include <tutti/mpi.hpp>

namespace tutti::v0::mpi {

/// Waits for a nonblocking operation of a set-up. It yields because some MPIs spin inside their
/// blocking calls, which takes tens of milliseconds where ranks outnumber cores.
/// @param request of the operation. @param deadline of steady_clock. @param action in words, after
/// "cannot". Throws Error{timeout, transport}.
void finish(MPI_Request& request, Duration deadline, const char* action);

}  // namespace tutti::v0::mpi
