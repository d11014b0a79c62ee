/// @file
/// Ranks on the hosts of a network.
#pragma once

#include <span>

#include "topology.hpp"

namespace tutti::inline v0 {

/// Puts ranks on hosts: each becomes a host of its own, behind a link of its own to what was its
/// host, which passes on what other hosts send it. So ranks of one host reach each other through
/// their links, and share those of their host. Throws Error{invalid_argument} that names a rank
/// whose host is not there.
/// @param network whose hosts they are on. @param host_of the host of rank 0, 1, ...
/// @param inside the speed of a rank's own link. @return the network of ranks. Complexity: linear.
[[nodiscard]] Topology place_ranks(const Topology& network, std::span<const int> host_of,
                                   const LinkSpeed& inside);

}  // namespace tutti::inline v0
