/// @file
/// once_per_node: work that one rank of each host does for the others.
#pragma once

#include <functional>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// Calls a function on one rank of each host, the lowest one there, and waits until all have
/// returned: for what ranks of a host share, such as files to download or unpack. Collective. Ranks
/// are on one host where name and boot of the system are equal; containers with names of their own
/// count as hosts. Other programs on the host are not kept from doing the same.
/// @param world whose ranks take part. @param key for error texts, and equal on all ranks.
/// @param function what to do; must not call world. @param options of which the timeout counts, in
/// which the others wait for the function.
/// Throws the same Error on all ranks, which leaves the communicator usable: aborted where a
/// function threw, with its text and the lowest such rank as culprit; invalid_argument for keys
/// that differ, before any function is called.
TUTTI_API void once_per_node(Communicator& world, std::string_view key,
                             const std::function<void()>& function, const Options& options = {});

}  // namespace tutti::v0
