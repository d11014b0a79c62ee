/// @file
/// From MPI's return codes to Error.
#pragma once

#include <string>

#include <mpi.h>

#include <tutti/error.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0::mpi {

/// The error for an MPI return code. @param code not MPI_SUCCESS. @param action of the call, such
/// as "receive from rank 3". @param peer the other rank, or -1.
/// @return mismatch for a message that was too long, peer_dead where the MPI knows it, else
/// transport.
[[nodiscard]] Error error_of(int code, const std::string& action, Rank peer = -1);

/// Throws if a call failed. @param code that it returned. @param action of the call.
inline void check(int code, const char* action) {
  if (code != MPI_SUCCESS) throw error_of(code, action);
}

/// Throws if a transfer failed. @param code that a call for it returned. @param kind its direction.
/// @param peer the other rank.
inline void check_transfer(int code, Transfer::Kind kind, Rank peer) {
  if (code == MPI_SUCCESS) return;
  const bool sends = kind == Transfer::Kind::send;
  throw error_of(code, (sends ? "send to rank " : "receive from rank ") + std::to_string(peer),
                 peer);
}

/// The same. @param code as above. @param transfer whose call it was.
inline void check(int code, const Transfer& transfer) {
  check_transfer(code, transfer.kind, transfer.peer);
}

}  // namespace tutti::v0::mpi
