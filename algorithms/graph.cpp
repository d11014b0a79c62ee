// Graphs as values: links, distances, and the ranks on routers.
#include "graph.hpp"

#include <algorithm>
#include <numeric>

namespace tutti::v0 {
namespace {

std::string text_of(const Graph::Edge& edge) {
  return std::to_string(edge.a) + " - " + std::to_string(edge.b);
}

void check_edges(int routers, std::span<const Graph::Edge> edges) {
  for (const Graph::Edge& edge : edges) {
    if (edge.a < 0 || edge.b >= routers)
      reject("the link " + text_of(edge) + " is beyond routers 0 .. " +
             std::to_string(routers - 1));
    if (edge.a == edge.b) reject("router " + std::to_string(edge.a) + " is linked with itself");
  }
  const auto twice = std::adjacent_find(edges.begin(), edges.end());
  if (twice != edges.end()) reject("the link " + text_of(*twice) + " is given twice");
}

}  // namespace

Graph::Graph(GraphFamily family, std::vector<int> numbers, int routers, std::vector<Edge> edges)
    : family_{family}, numbers_{std::move(numbers)}, lazy_{make_lazy()} {
  if (routers < 1 || routers > kMostRouters)
    reject("a graph has 1 .. " + std::to_string(kMostRouters) + " routers, not " +
           std::to_string(routers));
  for (Edge& edge : edges)
    if (edge.a > edge.b) std::swap(edge.a, edge.b);
  std::ranges::sort(edges, {}, [](const Edge& edge) { return std::pair{edge.a, edge.b}; });
  check_edges(routers, edges);
  first_.assign(static_cast<std::size_t>(routers) + 1, 0);
  for (const Edge& edge : edges)
    for (const int end : {edge.a, edge.b}) ++first_[static_cast<std::size_t>(end) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  neighbors_.resize(first_.back());
  std::vector<std::size_t> next{first_};
  // Lower neighbours first, then higher ones: both come in ascending order.
  for (const Edge& edge : edges) neighbors_[next[static_cast<std::size_t>(edge.b)]++] = edge.a;
  for (const Edge& edge : edges) neighbors_[next[static_cast<std::size_t>(edge.a)]++] = edge.b;
  router_of_.resize(static_cast<std::size_t>(routers));
  std::iota(router_of_.begin(), router_of_.end(), 0);
  const std::vector<int> reached = distances(0);
  const auto lost = std::find(reached.begin(), reached.end(), -1);
  if (lost != reached.end())
    reject("router " + std::to_string(lost - reached.begin()) + " is not reachable from router 0");
}

Graph Graph::from_edges(int routers, std::span<const Edge> edges) {
  return {GraphFamily::edges, {}, routers, {edges.begin(), edges.end()}};
}

Graph Graph::with_ranks_on(std::vector<int> routers) const {
  if (routers.empty()) reject("a graph has at least one rank");
  for (std::size_t rank = 0; rank < routers.size(); ++rank)
    if (routers[rank] < 0 || routers[rank] >= this->routers())
      reject("rank " + std::to_string(rank) + " sits on router " + std::to_string(routers[rank]) +
             ", beyond routers 0 .. " + std::to_string(this->routers() - 1));
  Graph other{*this};
  other.router_of_ = std::move(routers);
  return other;
}

std::vector<Graph::Edge> Graph::edges() const {
  std::vector<Edge> edges;
  for (int router = 0; router < routers(); ++router)
    for (const int neighbor : neighbors(router))
      if (router < neighbor) edges.push_back({router, neighbor});
  return edges;
}

int Graph::degree() const noexcept {
  std::size_t most = 0;
  for (int router = 0; router < routers(); ++router)
    most = std::max(most, neighbors(router).size());
  return static_cast<int>(most);
}

int Graph::diameter() const {
  int most = 0;
  for (int router = 0; router < routers(); ++router)
    most = std::max(most, std::ranges::max(distances(router)));
  return most;
}

std::vector<int> Graph::distances(int router) const {
  std::vector<int> distance(static_cast<std::size_t>(routers()), -1);
  std::vector<int> reached{router};
  distance[static_cast<std::size_t>(router)] = 0;
  for (std::size_t at = 0; at < reached.size(); ++at)
    for (const int neighbor : neighbors(reached[at])) {
      int& far = distance[static_cast<std::size_t>(neighbor)];
      if (far >= 0) continue;
      far = distance[static_cast<std::size_t>(reached[at])] + 1;
      reached.push_back(neighbor);
    }
  return distance;
}

}  // namespace tutti::v0
