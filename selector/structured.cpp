#include "structured.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

using enum Collective;

/// The stages inside groups: the first and, for an all_reduce or a broadcast on lanes, the last.
struct Within {
  std::vector<Collective> ways{};
  std::vector<std::string_view> names{};  // algorithms to try
};

// Algorithms with few rounds or few bytes, since the ranks of a group are few and near each other.
// Only all_reduce and broadcast run other collectives within groups, as in parse_hierarchy. Any
// other collective runs itself there, so a new one needs no case.
std::vector<Within> withins_of(Collective collective) {
  if (collective == all_reduce)
    return {{{reduce_scatter, all_gather}, {"circulant", "direct"}},
            {{reduce, broadcast}, {"binomial"}}};
  if (collective == broadcast)
    return {{{broadcast}, {"binomial"}}, {{all_gather, scatter}, {"ring"}}};
  return {{{collective}, {"circulant", "binomial", "direct", "pairwise", "dissemination"}}};
}

// Between hosts: few rounds, few bytes, or both.
constexpr std::array<std::string_view, 9> kBetween{"circulant",    "ring",     "recursive_doubling",
                                                   "rabenseifner", "binomial", "scatter_all_gather",
                                                   "direct",       "bruck",    "dissemination"};

/// The row with its default parameter; the row is null if the catalog has none.
Choice choice_named(const Catalog& catalog, Collective collective, std::string_view name) {
  const Algorithm* const row = catalog.find(collective, name);
  return {.algorithm = row, .number = row == nullptr ? 0 : row->default_number};
}

/// The stages of a hierarchy; empty if one of them does not exist.
std::vector<Choice> stages_of(const Catalog& catalog, Collective collective, const Within& within,
                              std::string_view name, std::string_view between) {
  std::vector<Choice> stages{choice_named(catalog, within.ways.front(), name),
                             choice_named(catalog, collective, between)};
  if (within.ways.size() > 1) {
    const bool scatters = within.ways[1] == scatter;  // from the root, always by a tree
    stages.push_back(choice_named(catalog, within.ways[1], scatters ? "binomial" : name));
  }
  const bool is_whole =
      std::ranges::all_of(stages, [](const Choice& choice) { return choice.algorithm != nullptr; });
  return is_whole ? stages : std::vector<Choice>{};
}

/// A link between two routers, the lower one first.
using Ends = std::pair<int, int>;

/// The vertex of router 0. Hosts are routers only if there are no switches.
int first_router(const Topology& topology) {
  return topology.switches() == 0 ? 0 : topology.hosts();
}

std::vector<Ends> links_of_routers(const Topology& topology) {
  const int first = first_router(topology);
  std::vector<Ends> links;
  for (const Topology::Link& link : topology.links())
    if (link.a >= first && link.b >= first)
      links.emplace_back(std::min(link.a, link.b) - first, std::max(link.a, link.b) - first);
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

/// The router of each rank; empty if a host is not on exactly one, or a router has no host.
std::vector<int> routers_of(const Topology& topology, int ranks) {
  std::vector<int> routers;
  if (topology.switches() == 0) {
    for (int rank = 0; rank < ranks; ++rank) routers.push_back(rank);
    return routers;
  }
  std::vector<bool> has_host(static_cast<std::size_t>(topology.switches()), false);
  for (int host = 0; host < topology.hosts(); ++host) {
    const auto hops = topology.hops(host);
    if (hops.size() != 1 || hops.front().to < topology.hosts()) return {};
    const int router = hops.front().to - topology.hosts();
    has_host[static_cast<std::size_t>(router)] = true;
    if (host < ranks) routers.push_back(router);
  }
  return std::ranges::find(has_host, false) == has_host.end() ? routers : std::vector<int>{};
}

/// @return the graph that the network's name describes, if it has these links; else null.
std::unique_ptr<Graph> family_of(const std::string& name, const std::vector<Ends>& links,
                                 int routers) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return nullptr;
  const std::string family = name.substr(0, colon);
  if (family != "torus" && family != "hypercube" && family != "slim_fly") return nullptr;
  const std::string numbers = name.substr(colon + 1, name.find(':', colon + 1) - colon - 1);
  auto graph =
      std::make_unique<Graph>(parse_graph(family + (family == "slim_fly" ? ":q=" : ":") + numbers));
  const std::vector<Graph::Edge> edges = graph->edges();
  const bool is_it =
      graph->routers() == routers &&
      std::ranges::equal(edges, links, [](const Graph::Edge& edge, const Ends& ends) {
        return edge.a == ends.first && edge.b == ends.second;
      });
  return is_it ? std::move(graph) : nullptr;
}

}  // namespace

std::vector<Choice> hierarchies_of(const Catalog& catalog, Collective collective,
                                   std::span<const int> hosts) {
  const Algorithm* const row = catalog.find(collective, "hierarchical");
  std::vector<Choice> choices;
  if (row == nullptr || row->parameter != AlgorithmParameter::hierarchy) return choices;
  for (const Within& within : withins_of(collective))
    for (const std::string_view name : within.names)
      for (const std::string_view between : kBetween) {
        Hierarchy hierarchy{.stages = stages_of(catalog, collective, within, name, between)};
        if (hierarchy.stages.empty()) continue;
        choices.push_back(
            on_hosts({.algorithm = row,
                      .hierarchy = std::make_shared<const Hierarchy>(std::move(hierarchy))},
                     hosts));
      }
  return choices;
}

std::vector<Choice> choices_on(const Catalog& catalog, Collective collective,
                               const std::shared_ptr<const Graph>& graph) {
  std::vector<Choice> choices;
  if (graph == nullptr) return choices;
  for (const Algorithm* const row : catalog.rows())
    if (row->collective == collective && row->parameter == AlgorithmParameter::graph)
      choices.push_back({.algorithm = row, .graph = graph});
  return choices;
}

std::shared_ptr<const Graph> router_graph(const Topology& topology, int ranks) {
  std::vector<int> routers = routers_of(topology, ranks);
  if (routers.empty()) return nullptr;
  const std::vector<Ends> links = links_of_routers(topology);
  const int count = topology.vertices() - first_router(topology);
  std::unique_ptr<Graph> graph = family_of(topology.name(), links, count);
  if (graph == nullptr) {
    std::vector<Graph::Edge> edges;
    for (const auto& [a, b] : links) edges.push_back({a, b});
    graph = std::make_unique<Graph>(Graph::from_edges(count, edges));
  }
  if (std::ranges::is_sorted(routers) && std::ranges::adjacent_find(routers) == routers.end() &&
      graph->ranks() == ranks)
    return graph;
  return std::make_shared<const Graph>(graph->with_ranks_on(std::move(routers)));
}

}  // namespace tutti::v0::detail
