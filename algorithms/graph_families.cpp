// The families of graphs with simple links; graph_slim_fly.cpp has the other one.
#include "graph.hpp"

namespace tutti::v0 {

static constexpr int kMostDimensions = 16;
static_assert(1 << kMostDimensions == kMostRouters);

void check_size(std::string_view what, std::int64_t routers, std::int64_t edges) {
  constexpr std::int64_t kMostEdges = 1 << 22;
  if (routers < 1 || routers > kMostRouters || edges > kMostEdges)
    reject(std::string{what} + " would have " + std::to_string(routers) + " routers and " +
           std::to_string(edges) + " links; there may be 1 .. " + std::to_string(kMostRouters) +
           " and at most " + std::to_string(kMostEdges));
}

std::string_view name_of(GraphFamily family) noexcept {
  switch (family) {
    case GraphFamily::ring: return "ring";
    case GraphFamily::hypercube: return "hypercube";
    case GraphFamily::torus: return "torus";
    case GraphFamily::complete: return "complete";
    case GraphFamily::slim_fly: return "slim_fly";
    case GraphFamily::edges: return "edges";
  }
  return "unknown";
}

Graph Graph::ring(int routers) {
  check_size("the ring", routers, routers);
  std::vector<Edge> edges = torus(std::span{&routers, 1}).edges();
  return {GraphFamily::ring, {routers}, routers, std::move(edges)};
}

Graph Graph::hypercube(int dimensions) {
  if (dimensions < 0 || dimensions > kMostDimensions)
    reject("a hypercube has 0 .. " + std::to_string(kMostDimensions) + " dimensions, not " +
           std::to_string(dimensions));
  std::vector<Edge> edges;
  for (int a = 0; a < 1 << dimensions; ++a)
    for (int bit = 0; bit < dimensions; ++bit)
      if ((a >> bit & 1) == 0) edges.push_back({a, a | 1 << bit});
  return {GraphFamily::hypercube, {dimensions}, 1 << dimensions, std::move(edges)};
}

Graph Graph::torus(std::span<const int> sides) {
  if (sides.empty()) reject("a torus has at least one side");
  std::int64_t routers = 1;
  for (const int side : sides) {
    if (side < 1) reject("the sides of a torus are 1 or more, not " + std::to_string(side));
    routers *= side;
    check_size("the torus", routers, 0);
  }
  std::vector<Edge> edges;
  int stride = static_cast<int>(routers);
  for (const int side : sides) {
    stride /= side;
    for (int a = 0; a < routers; ++a) {
      const int at = a / stride % side;
      // A side of two has only one link; a side of one has none.
      if (at + 1 < side) edges.push_back({a, a + stride});
      else if (side > 2) edges.push_back({a, a - at * stride});
    }
  }
  return {GraphFamily::torus,
          {sides.begin(), sides.end()},
          static_cast<int>(routers),
          std::move(edges)};
}

Graph Graph::complete(int routers) {
  const std::int64_t n = routers;
  check_size("the complete graph", n, n * (n - 1) / 2);
  std::vector<Edge> edges;
  for (int b = 0; b < routers; ++b)
    for (int a = 0; a < b; ++a) edges.push_back({a, b});
  return {GraphFamily::complete, {routers}, routers, std::move(edges)};
}

}  // namespace tutti::v0
