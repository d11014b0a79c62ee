#include "placed.hpp"

#include <optional>
#include <string>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::inline v0 {

Topology place_ranks(const Topology& network, std::span<const int> host_of,
                     const LinkSpeed& inside) {
  const int ranks = static_cast<int>(host_of.size());
  std::vector<Topology::Link> links;
  for (int rank = 0; rank < ranks; ++rank) {
    const int host = host_of[static_cast<std::size_t>(rank)];
    if (host < 0 || host >= network.hosts())
      throw Error{ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " is on host " +
                                                   std::to_string(host) + " of network " +
                                                   network.name() + ", which has " +
                                                   std::to_string(network.hosts()) + " hosts"};
    links.push_back({rank, ranks + host, inside});
  }
  for (const Topology::Link& link : network.links())
    links.push_back({ranks + link.a, ranks + link.b, link.speed});
  // What is on a host that is beside the grid has two ways to go before it is there.
  std::optional<Grid> grid = network.switches() == 0 ? network.grid() : std::nullopt;
  if (grid) grid->first += ranks;
  return {network.name() + " with " + std::to_string(ranks) + " ranks", ranks, network.vertices(),
          std::move(links), std::move(grid)};
}

}  // namespace tutti::inline v0
