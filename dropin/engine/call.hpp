/// @file
/// The common part of all collectives: who serves a call, and how tutti runs it.
#pragma once

#include <mpi.h>

#include <tutti/call.hpp>

#include "dropin/engine/state.hpp"

namespace tutti::dropin {

/// Finds where the MPI's library lies.
void find_the_mpi(void* (*find)(const char*) noexcept) noexcept;

/// @param caller the return address of the program's call. @return the communicator if tutti serves
/// the call; null, after counting the reason, if the MPI does. Collective at the first call of a
/// communicator.
[[nodiscard]] State* admit(MPI_Comm comm, const void* caller);

/// Counts a call that the MPI serves, for a reason in its arguments.
inline void decline(Reason reason) noexcept {
  count(reason);
}

/// Runs a call, and counts it. @return MPI_SUCCESS, or the code that the communicator's error
/// handler got.
int run(State& state, MPI_Comm comm, const Call& call, const Options& options = {});

}  // namespace tutti::dropin
