// Shortest-path spanning trees from every router, for multitree. Routers of one depth choose their
// parents one after the other, among the neighbours nearer to the root: first by the fewest chunks
// over the link in that round, then by the fewest chunks that the neighbour receives, then by
// number. Greedy, deterministic, O(routers * links).
#include <algorithm>
#include <tuple>

#include "graph.hpp"

namespace tutti::v0 {

std::shared_ptr<Graph::Lazy> Graph::make_lazy() {
  return std::make_shared<Lazy>();
}

const SpanningTrees& Graph::trees() const {
  constexpr int kMostTrees = 4096;  // Trees take four bytes per pair of routers.
  if (routers() > kMostTrees)
    reject("trees are made for up to " + std::to_string(kMostTrees) + " routers, not " +
           std::to_string(routers()));
  std::call_once(lazy_->trees_once, [this] { lazy_->trees = grow_trees(); });
  return lazy_->trees;
}

SpanningTrees Graph::grow_trees() const {
  const auto n = static_cast<std::size_t>(routers());
  SpanningTrees trees;
  // Row by row: the distance from a router to a root equals that from the root.
  trees.depth.reserve(n * n);
  for (int router = 0; router < routers(); ++router)
    for (const int distance : distances(router)) {
      trees.depth.push_back(static_cast<std::uint16_t>(distance));
      trees.deepest = std::max(trees.deepest, distance);
    }
  trees.parent.resize(n * n);
  const auto rounds = static_cast<std::size_t>(trees.deepest) + 1;
  // Rounds do not share counters, so that one pass over all routers serves all depths.
  std::vector<std::uint32_t> sent(rounds * neighbors_.size());
  std::vector<std::uint32_t> taken(rounds * n);
  for (std::size_t root = 0; root < n; ++root) {
    const std::uint16_t* const depth = &trees.depth[root * n];
    for (std::size_t u = 0; u < n; ++u) {
      const std::size_t round = depth[u];
      std::size_t best = neighbors_.size();
      std::tuple<std::uint32_t, std::uint32_t, std::size_t> least{};
      for (std::size_t link = first_[u]; link < first_[u + 1]; ++link) {
        const auto w = static_cast<std::size_t>(neighbors_[link]);
        if (depth[w] >= round) continue;
        const std::tuple cost{sent[round * neighbors_.size() + link], taken[round * n + w],
                              (w + n - u) % n};
        if (best != neighbors_.size() && cost >= least) continue;
        best = link;
        least = cost;
      }
      if (best == neighbors_.size()) {  // the root
        trees.parent[u * n + root] = static_cast<std::uint16_t>(u);
        continue;
      }
      const auto w = static_cast<std::size_t>(neighbors_[best]);
      trees.parent[u * n + root] = static_cast<std::uint16_t>(w);
      ++sent[round * neighbors_.size() + best];
      ++taken[round * n + w];
    }
  }
  return trees;
}

}  // namespace tutti::v0
