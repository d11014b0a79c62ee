/// @file
/// Aids for training: samples of a rank, exact evaluation, checkpoints, and work to do once per
/// host.
#pragma once

#include <functional>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// Calls a function on the lowest rank of each host, and waits until all have returned: for work
/// that the ranks of a host share, such as downloading or unpacking files. Collective. Ranks are on
/// one host if name and boot of the system are equal; containers with names of their own count as
/// hosts. Other programs on the host may do the same work at the same time.
/// @param key for error texts, and equal on all ranks. @param function must not call world.
/// @param options only the timeout counts, which includes the wait for the function. Throws the
/// same Error on all ranks, which leaves the communicator usable: aborted if a function threw, with
/// its text and the lowest such rank as culprit; invalid_argument for keys that differ, before any
/// function is called.
TUTTI_API void once_per_node(Communicator& world, std::string_view key,
                             const std::function<void()>& function, const Options& options = {});

}  // namespace tutti::v0
