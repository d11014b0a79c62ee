/// @file
/// Candidates that combine other algorithms, or follow a network.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/graph.hpp>

#include "topology/topology.hpp"

namespace tutti::v0::detail {

/// @return the hierarchies of a collective to consider: a few algorithms inside groups, onto lanes
/// or to leaders, with each of a few between groups. Empty if the catalog has no hierarchy of it.
/// @param hosts the group of each rank.
[[nodiscard]] std::vector<Choice> hierarchies_of(const Catalog& catalog, Collective collective,
                                                 std::span<const int> hosts);

/// @return the choices that follow a network, such as multitree. @param graph of routers with all
/// ranks; may be null.
[[nodiscard]] std::vector<Choice> choices_on(const Catalog& catalog, Collective collective,
                                             const std::shared_ptr<const Graph>& graph);

/// @return the routers of a network as a graph, with the ranks on them. If the network is of a
/// family of graphs, it is that family's graph. Without switches, each host is a router. Null if
/// there are switches and a host has several links, or a switch has no host. @param topology its
/// host r is rank r.
[[nodiscard]] std::shared_ptr<const Graph> router_graph(const Topology& topology, int ranks);

}  // namespace tutti::v0::detail
