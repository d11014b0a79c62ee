#include <tutti/spi/graph.hpp>

#include "patterns.hpp"
#include "refuse.hpp"

namespace tutti::v0::algorithms {

const Graph& graph_of(const Shape& shape, const char* example) {
  if (shape.graph == nullptr)
    reject(std::string{"it needs a network, and none is given: write for example "} + example);
  const Graph& graph = *shape.graph;
  std::vector<bool> taken(static_cast<std::size_t>(graph.routers()));
  for (Rank rank = 0; rank < graph.ranks(); ++rank)
    taken[static_cast<std::size_t>(graph.router_of(rank))] = true;
  const bool spread = graph.ranks() == graph.routers() &&
                      std::find(taken.begin(), taken.end(), false) == taken.end();
  if (!spread || graph.ranks() != shape.size)
    reject("it needs one rank on each router: the graph has " +
           count_of(graph.routers(), "router") + " with " + count_of(graph.ranks(), "rank") +
           (spread ? "" : ", not one on each") + there_are(shape.size));
  return graph;
}

std::vector<Rank> ranks_of(const Graph& graph) {
  std::vector<Rank> ranks(static_cast<std::size_t>(graph.ranks()));
  for (Rank rank = 0; rank < graph.ranks(); ++rank)
    ranks[static_cast<std::size_t>(graph.router_of(rank))] = rank;
  return ranks;
}

}  // namespace tutti::v0::algorithms
