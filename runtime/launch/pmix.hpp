/// @file
/// A Channel over PMIx, for Open MPI's launcher, PRRTE and srun --mpi=pmix. Its library is loaded
/// on demand.
#pragma once

#include <memory>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// A world under a launcher with PMIx, for programs that may use MPI as well. May be made many
/// times. The first one starts a session that lasts until the process exits; Open MPI shares it, so
/// MPI_Init may come before or after. A process with a session must not end by _exit, which the
/// launcher would take for a crash. @return the channel. Throws Error{transport} if there is no
/// library, or no launcher that answers.
[[nodiscard]] std::unique_ptr<Channel> pmix_channel();

/// @return whether this build supports PMIx, given the library.
[[nodiscard]] bool has_pmix() noexcept;

}  // namespace tutti::runtime
