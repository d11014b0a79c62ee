/// @file
/// From MPI's return codes to Error.
#pragma once

#include <string>

#include <mpi.h>

#include <tutti/error.hpp>

namespace tutti::mpi {

/// What an MPI return code means. @param code not MPI_SUCCESS. @param action what was being done,
/// such as "receive from rank 3". @param peer the other rank, or -1.
/// @return mismatch for a message that was too long, peer_dead where the MPI knows it, else
/// transport.
[[nodiscard]] Error error_of(int code, const std::string& action, Rank peer = -1);

/// Throws if a call failed. @param code what it returned. @param action what it should have done.
inline void check(int code, const char* action) {
  if (code != MPI_SUCCESS) throw error_of(code, action);
}

/// Throws if a transfer failed. @param code what a call for it returned. @param action such as
/// "send to rank ". @param peer the other rank.
inline void check_transfer(int code, const char* action, Rank peer) {
  if (code != MPI_SUCCESS) throw error_of(code, action + std::to_string(peer), peer);
}

}  // namespace tutti::mpi
