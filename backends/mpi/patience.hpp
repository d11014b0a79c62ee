/// @file
/// The wait for operations of MPI in which all ranks take part.
#pragma once

#include <tutti/mpi.hpp>

namespace tutti::v0::mpi {

/// Waits for a nonblocking operation of a set-up. It yields because some MPIs spin inside their
/// blocking calls, which takes tens of milliseconds if ranks outnumber cores. @param deadline of
/// steady_clock. @param action for the text, after "cannot". Throws Error{timeout, transport}.
void finish(MPI_Request& request, Duration deadline, const char* action);

}  // namespace tutti::v0::mpi
