/// @file
/// The common part of all collectives: who serves a call, and how tutti runs it.
#pragma once

#include <mpi.h>

#include <tutti/call.hpp>
#include <tutti/error.hpp>

#include "dropin/engine/state.hpp"
#include "dropin/engine/task.hpp"

namespace tutti::dropin {

/// The origin of a call.
struct Origin {
  const void* caller = nullptr;    ///< The return address of the program's call.
  MPI_Request* request = nullptr;  ///< The request of a call that starts, else null.
};

/// Finds where the MPI's library lies.
void find_the_mpi(void* (*find)(const char*) noexcept) noexcept;

/// @return the communicator if tutti serves the call; null, after counting the reason, if the MPI
/// does. Collective at the first call of a communicator that blocks. Earlier ones that only start
/// are the MPI's, since they must not wait.
[[nodiscard]] State* admit(MPI_Comm comm, const Origin& origin);

/// Counts a call that the MPI serves, for a reason in its arguments.
inline void decline(Reason reason) noexcept {
  count(reason);
}

/// Runs or starts a call, and counts it. @return MPI_SUCCESS, or the code that the communicator's
/// error handler got.
int run(State& state, const Origin& origin, MPI_Comm comm, Task& task);

/// Gives an error to the error handler of a communicator. @return its code, if the handler returns.
int raise(MPI_Comm comm, const Error& error);

}  // namespace tutti::dropin
