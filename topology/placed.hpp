/// @file
/// Placement of ranks on the hosts of a network.
#pragma once

#include <span>

#include <tutti/spi/cores.hpp>

#include "topology.hpp"

namespace tutti::v0 {

/// Makes each rank a host, with a link of its own to its former host, which forwards messages. So
/// ranks of one host reach each other through their links, and share those of their host. If ranks
/// of a host are bound to several of its packages, or to cores behind several of its caches, these
/// become switches between them and the host, with the speeds of speed_of_level. Throws
/// Error{invalid_argument} that names a rank whose host does not exist.
/// @param host_of the host of each rank. @param inside the speed of a rank's own link. @param
/// localities of the ranks, or empty. @return the network of ranks. Complexity: linear, apart from
/// a logarithm.
[[nodiscard]] Topology place_ranks(const Topology& network, std::span<const int> host_of,
                                   const LinkSpeed& inside,
                                   std::span<const Locality> localities = {});

/// Reorders the hosts of a network: the host of rank r becomes host r, and hosts without a rank
/// become switches. Throws Error{invalid_argument} that names a rank whose host does not exist, or
/// one of two on the same host. @param host_of the host of each rank, each once. Complexity:
/// linear.
[[nodiscard]] Topology with_hosts_in_order(const Topology& network, std::span<const int> host_of);

}  // namespace tutti::v0
