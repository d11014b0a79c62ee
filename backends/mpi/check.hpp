/// @file
/// The translation of MPI's return codes to Error.
#pragma once

#include <string>

#include <mpi.h>

#include <tutti/error.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0::mpi {

/// @return the error for an MPI return code: mismatch for a message that was too long, peer_dead if
/// the MPI reports that, otherwise transport. @param code not MPI_SUCCESS. @param action of the
/// call, such as "receive from rank 3". @param peer the other rank, or -1.
[[nodiscard]] Error error_of(int code, const std::string& action, Rank peer = -1);

/// Throws if a call failed. @param action as of error_of().
inline void check(int code, const char* action) {
  if (code != MPI_SUCCESS) throw error_of(code, action);
}

/// Throws if a call for a transfer failed.
inline void check_transfer(int code, Transfer::Kind kind, Rank peer) {
  if (code == MPI_SUCCESS) return;
  const bool sends = kind == Transfer::Kind::send;
  throw error_of(code, (sends ? "send to rank " : "receive from rank ") + std::to_string(peer),
                 peer);
}

/// Throws if a call for a transfer failed.
inline void check(int code, const Transfer& transfer) {
  check_transfer(code, transfer.kind, transfer.peer);
}

}  // namespace tutti::v0::mpi
