/// @file
/// A Channel over PMI-1, the lines of text that Hydra and its likes speak on an inherited socket.
#pragma once

#include <memory>
#include <string>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// What Hydra told by PMI_FD, PMI_RANK and PMI_SIZE.
struct PmiPlace {
  int descriptor = -1;  ///< The inherited socket. It stays open, and stays the launcher's.
  Rank rank = 0;        ///< The own rank.
  int size = 1;         ///< The number of ranks.
};

/// A world under Hydra, for programs that may or may not use its MPI as well. The MPI speaks on the
/// same socket, in turns: it greets the launcher in MPI_Init, which may be done once, and after
/// MPI_Finalize nobody can speak any more. This channel therefore does not greet, and says farewell
/// when the process exits, where MPI has not done so. It may be made many times, before, between or
/// beside calls of MPI, but not during one nor after MPI_Finalize.
/// @param place as told. @return the channel. Throws Error{transport} where nobody answers.
[[nodiscard]] std::unique_ptr<Channel> pmi_channel(const PmiPlace& place);

}  // namespace tutti::runtime
