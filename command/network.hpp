/// @file
/// Networks as JSON, and networks with ranks on their hosts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "topology/read.hpp"

namespace tutti::command {

/// @param text as find_network takes it. Throws Failure{usage}.
[[nodiscard]] NamedTopology described_network(const std::string& text);

/// @return the latency of a link in nanoseconds.
[[nodiscard]] double nanoseconds(const LinkSpeed& speed);
/// @return the bandwidth of a link in 10^9 bits per second.
[[nodiscard]] double gbit_per_second(const LinkSpeed& speed);

/// @return a file that find_network reads: the names of hosts and switches, and the links, in the
/// order of Topology::links.
[[nodiscard]] nlohmann::ordered_json network_json(const NamedTopology& network);

/// @return the host of each rank, if each host gets `per_host` ranks.
[[nodiscard]] std::vector<int> hosts_filled(int ranks, int per_host);

/// @return the network with ranks as hosts; the `per_host` ranks of one host share its links:
/// place_ranks.
[[nodiscard]] NamedTopology with_ranks(NamedTopology network, int ranks, int per_host);

}  // namespace tutti::command
