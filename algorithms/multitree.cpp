// Multitree: every rank owns a block and is the root of a shortest-path tree through the network.
// Its block is reduced along the tree to the root, and broadcast back. Every message crosses one
// link. Rounds 2D for a network of diameter D, D for reduce-scatter and all-gather; bytes sent per
// rank 2(n-1)/n of the vector, near that also round by round. Any network, one rank on each router,
// commutative operators. Its special cases: on a ring both directions at once (n rounds, not
// 2(n-1)), on a hypercube a butterfly, on a complete graph the direct exchange, on a Slim Fly four
// rounds. Huang et al., MultiTree, ISCA 2021, with other trees: graph_trees.cpp. Wins for large and
// middle vectors if messages that share a link slow each other down; loses to log-round algorithms
// on a single switch, and on networks with hubs.
#include <tutti/spi/graph.hpp>

#include "patterns.hpp"
#include "steps_by_round.hpp"

namespace tutti::v0::algorithms {

Schedule multitree_all_gather(const Shape& shape, Rank self) {
  const Graph& graph = graph_of(shape, "multitree:graph=torus:4x4");
  const SpanningTrees& trees = graph.trees();
  const std::vector<Rank> ranks = ranks_of(graph);
  const auto rank = [&](int router) { return ranks[static_cast<std::size_t>(router)]; };
  const auto at = [n = static_cast<std::size_t>(shape.size)](int root, int router) {
    return static_cast<std::size_t>(router) * n + static_cast<std::size_t>(root);
  };
  const int own = graph.router_of(self);
  StepsByRound steps;
  for (int root = 0; root < shape.size; ++root) {
    TreePlace place{.depth = static_cast<int>(trees.depth[at(root, own)])};
    if (place.depth > 0) place.parent = rank(trees.parent[at(root, own)]);
    for (const int child : graph.neighbors(own))
      if (trees.parent[at(root, child)] == own && child != root)
        place.children.push_back(rank(child));
    steps.along_tree(place, {Space::out, unsigned_of(rank(root))});
  }
  return steps.schedule(unsigned_of(shape.size));
}

Schedule multitree_reduce_scatter(const Shape& shape, Rank self) {
  return reduce_scatter_from(multitree_all_gather(shape, self), self);
}

Schedule multitree_all_reduce(const Shape& shape, Rank self) {
  return then(multitree_reduce_scatter(shape, self), multitree_all_gather(shape, self));
}

}  // namespace tutti::v0::algorithms
