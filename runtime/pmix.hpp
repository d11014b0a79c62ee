/// @file
/// A Channel over PMIx, as Open MPI's launcher, PRRTE and srun --mpi=pmix offer it. Its library is
/// loaded when it is needed.
#pragma once

#include <memory>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// A world under a launcher that speaks PMIx, for programs that may or may not use MPI as well. May
/// be made many times. The first one begins a session that lasts until the process exits; Open MPI
/// shares it, so MPI_Init may come before or after. A process that has begun it must not end by
/// _exit: the launcher would take that for a crash.
/// @return the channel, which knows rank and size. Throws
/// Error{transport} where there is no library, or no launcher that answers.
[[nodiscard]] std::unique_ptr<Channel> pmix_channel();

/// @return whether this build can speak PMIx, given the library.
[[nodiscard]] bool has_pmix() noexcept;

}  // namespace tutti::runtime
