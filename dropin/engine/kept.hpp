/// @file
/// Calls that the MPI runs with arguments of the engine, such as counts that were narrowed to int:
/// these arguments live as long as the call.
#pragma once

#include <mpi.h>

#include <functional>

namespace tutti::dropin {

/// Starts or prepares a call of the MPI, and holds the arguments. @return the MPI's code.
using KeptCall = std::function<int(MPI_Request*)>;

/// Starts a call, and keeps it until it has ended. The program's request is one of pending.hpp,
/// which poll_kept() completes.
int start_kept(MPI_Comm comm, KeptCall call, MPI_Request* request);
/// Prepares a call, and keeps it until its request is freed.
int prepare_kept(KeptCall call, MPI_Request* request);

/// Completes the requests of started calls that have ended. Any thread.
void poll_kept() noexcept;
/// @return a prepared call, which is to live until its request is freed; none for other requests.
[[nodiscard]] KeptCall release_kept(MPI_Request request) noexcept;

}  // namespace tutti::dropin
