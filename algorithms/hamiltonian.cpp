// Complete graphs have Walecki's zigzags (Lucas, 1892). Tori of two sides from 3 on are lengthened
// from small ones. For other tori torus_rings searches.
#include "hamiltonian.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph.hpp"

namespace tutti::v0 {
namespace {

using Tour = std::vector<int>;

/// Zigzags over 2m routers use every link among them once. One more router joins the ends of each,
/// and if there is another one, it is in the middle of each.
std::vector<Tour> complete_cycles(int routers) {
  const int m = (routers - 1) / 2;
  std::vector<Tour> cycles;
  for (int first = 0; first < m; ++first) {
    Tour cycle{2 * m};
    for (int at = 0; at < 2 * m; ++at) {
      if (at == m && routers % 2 == 0) cycle.push_back(2 * m + 1);
      const int step = at % 2 == 1 ? (at + 1) / 2 : -at / 2;
      cycle.push_back((first + step + 2 * m) % (2 * m));
    }
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

/// @return the cycle along the links that `cycle` does not use, up to its first return.
Tour rest_of(const Graph& graph, const Tour& cycle) {
  const std::size_t n = cycle.size();
  std::vector<std::pair<int, int>> beside(n);  // on the cycle, of each router
  for (std::size_t at = 0; at < n; ++at)
    beside[static_cast<std::size_t>(cycle[at])] = {cycle[(at + n - 1) % n], cycle[(at + 1) % n]};
  Tour rest;
  for (int router = 0, last = -1; router >= 0;) {
    rest.push_back(router);
    const std::pair<int, int>& on_cycle = beside[static_cast<std::size_t>(router)];
    const auto links = graph.neighbors(router);
    const auto next = std::ranges::find_if(
        links, [&](int to) { return to != on_cycle.first && to != on_cycle.second && to != last; });
    last = router;
    router = next == links.end() || *next == 0 ? -1 : *next;
  }
  return rest;
}

}  // namespace

std::vector<std::vector<int>> hamiltonian_cycles(const Graph& graph) {
  const int n = graph.routers();
  Tour around(static_cast<std::size_t>(n));
  std::iota(around.begin(), around.end(), 0);
  if (graph.family() == GraphFamily::ring || n < 3) return {around};
  if (graph.family() == GraphFamily::complete) return complete_cycles(n);
  std::vector<int> sides{graph.numbers().begin(), graph.numbers().end()};
  if (graph.family() == GraphFamily::hypercube)
    sides.assign(static_cast<std::size_t>(sides.front()), 2);
  else if (graph.family() != GraphFamily::torus)
    reject(
        "it needs rings that share no link; these are known for rings, complete graphs, tori "
        "and hypercubes, but not for " +
        graph.text());
  std::erase(sides, 1);
  if (sides.size() == 1) return {around};
  if (sides.size() == 2 && std::ranges::min(sides) > 2) {
    const Tour cycle = long_torus_ring(sides[0], sides[1]);
    return {cycle, rest_of(graph, cycle)};
  }
  std::vector<Tour> cycles = torus_rings(sides);
  if (cycles.empty())
    reject("it needs rings that share no link, and none were found for " + graph.text());
  return cycles;
}

const std::vector<std::vector<int>>& Graph::rings() const {
  std::call_once(lazy_->rings_once, [this] { lazy_->rings = hamiltonian_cycles(*this); });
  return lazy_->rings;
}

}  // namespace tutti::v0
