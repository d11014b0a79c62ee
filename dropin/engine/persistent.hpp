/// @file
/// Collectives that are prepared once, and started often. The program's request is a persistent
/// receive of the MPI, as pending.hpp has it.
#pragma once

#include <mpi.h>

#include "dropin/engine/state.hpp"
#include "dropin/engine/task.hpp"

namespace tutti::dropin {

/// Makes the request of a call. The program may free datatypes before it starts the call.
/// @return MPI_SUCCESS, or the code that the communicator's error handler got.
int prepare(State& state, MPI_Comm comm, Task task, MPI_Request* request);

/// MPI_Start of any request.
int start_prepared(MPI_Request* request);
/// MPI_Startall of any requests.
int start_all_prepared(int count, MPI_Request* requests);
/// MPI_Request_free of any request.
int free_prepared(MPI_Request* request);

}  // namespace tutti::dropin
