/// @file
/// Networks as the command writes them, and with ranks on their hosts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "topology/read.hpp"

namespace tutti::command {

/// Throws Failure{usage}. @param text of a network, as find_network takes it. @return the network.
[[nodiscard]] NamedTopology described_network(const std::string& text);

/// @param speed of a link. @return its latency in nanoseconds.
[[nodiscard]] double nanoseconds(const LinkSpeed& speed);
/// @param speed of a link. @return its bandwidth in 10^9 bits a second.
[[nodiscard]] double gbit_per_second(const LinkSpeed& speed);

/// @param network any. @return it as a file that is read again: the names of hosts and switches,
/// and the links, in the order of Topology::links.
[[nodiscard]] nlohmann::ordered_json network_json(const NamedTopology& network);

/// @param per_host how many fill a host. @return the host of each.
[[nodiscard]] std::vector<int> hosts_filled(int ranks, int per_host);

/// @param network any. @param per_host how many fill a host. @return the network of ranks, which
/// share their hosts' links where there are several: place_ranks.
[[nodiscard]] NamedTopology with_ranks(NamedTopology network, int ranks, int per_host);

}  // namespace tutti::command
