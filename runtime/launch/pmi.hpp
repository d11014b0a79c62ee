/// @file
/// A Channel over PMI-1, the line protocol of Hydra and similar launchers on an inherited socket.
#pragma once

#include <memory>
#include <string>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// The values of PMI_FD, PMI_RANK and PMI_SIZE.
struct PmiPlace {
  int descriptor = -1;  ///< The inherited socket, which is not closed.
  Rank rank = 0;
  int size = 1;
};

/// A world under Hydra, for programs that may use its MPI as well. The MPI shares the socket:
/// MPI_Init sends a command that may be sent once, and after MPI_Finalize no command is allowed. So
/// this channel does not send the first command, and when the process exits it sends the last one
/// unless MPI did. It may be made many times, before, between or after other calls of MPI, but not
/// during one nor after MPI_Finalize.
/// @return the channel. Throws Error{transport} if the launcher does not answer.
[[nodiscard]] std::unique_ptr<Channel> pmi_channel(const PmiPlace& place);

}  // namespace tutti::runtime
