/// @file
/// Candidates that are made of others or follow a network, built from what is known of both.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/graph.hpp>

#include "topology/topology.hpp"

namespace tutti::v0::detail {

/// Hierarchies of a collective that are worth a look: a few algorithms within groups, onto lanes or
/// to leaders, and a few between them. @param catalog where they are taken from.
/// @param collective which one. @param hosts of each rank, by which ranks are grouped.
/// @return choices; none where the catalog has no hierarchy of it.
[[nodiscard]] std::vector<Choice> hierarchies_of(const Catalog& catalog, Collective collective,
                                                 std::span<const int> hosts);

/// What follows a network, such as multitree. @param catalog where they are taken from.
/// @param collective which one. @param graph of routers with all ranks.
/// @return choices.
[[nodiscard]] std::vector<Choice> choices_on(const Catalog& catalog, Collective collective,
                                             const std::shared_ptr<const Graph>& graph);

/// The routers of a network as a graph, with the ranks that are on them: the family's own graph
/// where it is one. Where there are no switches each host is a router. @param topology the network;
/// rank r is its host r. @return it; null where it has hosts with several links beside switches,
/// switches without hosts, which no rank could be on, or more routers than graphs have.
[[nodiscard]] std::shared_ptr<const Graph> router_graph(const Topology& topology, int ranks);

}  // namespace tutti::v0::detail
