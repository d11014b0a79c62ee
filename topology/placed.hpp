/// @file
/// Ranks on the hosts of a network.
#pragma once

#include <span>

#include <tutti/spi/cores.hpp>

#include "topology.hpp"

namespace tutti::v0 {

/// Puts ranks on hosts: each becomes a host of its own, behind a link of its own to what was its
/// host, which passes on what other hosts send it. So ranks of one host reach each other through
/// their links, and share those of their host. Where ranks of a host are bound to several of its
/// packages, or behind several of its caches, these are switches between them and their host, with
/// the speeds of speed_of_level. Throws Error{invalid_argument} that names a rank whose host is not
/// there.
/// @param network whose hosts they are on. @param host_of the host of rank 0, 1, ...
/// @param inside the speed of a rank's own link. @param localities of the ranks, or none.
/// @return the network of ranks. Complexity: linear, but for a logarithm.
[[nodiscard]] Topology place_ranks(const Topology& network, std::span<const int> host_of,
                                   const LinkSpeed& inside,
                                   std::span<const Locality> localities = {});

/// The same network with its hosts in another order: rank r's is host r, and hosts without a rank
/// are switches. Throws Error{invalid_argument} that names a rank whose host is not there, or one
/// of two on the same host. @param network any. @param host_of the host of rank 0, 1, ..., each
/// once. @return it. Complexity: linear.
[[nodiscard]] Topology with_hosts_in_order(const Topology& network, std::span<const int> host_of);

}  // namespace tutti::v0
