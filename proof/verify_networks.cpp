#include "verify_networks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/graph.hpp>

namespace tutti::verifying {
namespace {

std::uint64_t seed_of(std::uint64_t seed, int size) {
  return seed * 1000003 + static_cast<std::uint64_t>(size);
}

Choice choice_on(const Algorithm& row, Graph graph) {
  Choice choice{.algorithm = &row, .number = row.default_number};
  choice.graph = std::make_shared<const Graph>(std::move(graph));
  return choice;
}

/// The q of the Slim Fly of that size, if there is one.
std::optional<int> slim_fly_of(int size) {
  if (size == 1 || !admits(Sizes::slim_fly, size)) return std::nullopt;
  int q = 3;
  while (2 * q * q < size) ++q;
  return q;
}

/// Tori of two and three sides, the longest first.
void add_tori(int size, std::vector<Graph>& graphs) {
  for (int b = 2; b * b <= size; ++b) {
    if (size % b != 0) continue;
    const int a = size / b;
    graphs.push_back(Graph::torus(std::vector{a, b}));
    for (int c = 2; c <= b; ++c)
      if (a % c == 0 && a / c >= b) graphs.push_back(Graph::torus(std::vector{a / c, b, c}));
  }
}

/// A random tree with some additional links, and ranks on it in random order.
Graph random_graph(int size, RandomNumbers& random) {
  std::vector<Graph::Edge> edges;
  std::vector<std::vector<bool>> linked(static_cast<std::size_t>(size),
                                        std::vector<bool>(static_cast<std::size_t>(size)));
  const auto link = [&](int a, int b) {
    if (a == b || linked[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]) return;
    linked[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = true;
    linked[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] = true;
    edges.push_back({a, b});
  };
  for (int router = 1; router < size; ++router) link(router, random.between(0, router - 1));
  for (int more = random.between(0, size); more > 0; --more)
    link(random.between(0, size - 1), random.between(0, size - 1));
  std::vector<int> routers;
  for (Rank rank = 0; rank < size; ++rank)
    routers.insert(routers.begin() + random.between(0, rank), rank);
  return Graph::from_edges(size, edges).with_ranks_on(routers);
}

/// Groups as text: equal ones, unequal ones, single ranks, all ranks, and ranks that are not
/// consecutive.
std::vector<std::string> groupings(int size, RandomNumbers& random) {
  std::vector<std::string> texts{"groups=1"};
  if (size == 1) return texts;
  texts.push_back("groups=2");
  texts.push_back("groups=" + std::to_string(size));
  texts.push_back("groups=" + std::to_string(size - 1) + "+1");
  texts.push_back("groups=" + std::to_string((size + 3) / 4));
  std::string sizes;
  for (int left = size - 1; left > 0;) {
    const int ranks = random.between(1, std::min(left, 9));
    sizes += std::to_string(ranks) + "+";
    left -= ranks;
  }
  texts.push_back("groups=" + sizes + "1");
  const int groups = random.between(2, std::min(size, 8));
  std::string ranks = "ranks=0";
  for (Rank rank = 1; rank < size; ++rank)
    ranks += "+" + std::to_string(rank < groups ? rank : random.between(0, groups - 1));
  texts.push_back(ranks);
  std::vector<std::string> once;
  for (std::string& text : texts)
    if (std::find(once.begin(), once.end(), text) == once.end()) once.push_back(std::move(text));
  return once;
}

/// Algorithms for the stages, and lanes.
struct Stages {
  Collective collective;
  const char* operands;
  const char* lanes = "";
};

constexpr auto kStages = [] {
  using enum Collective;
  return std::array{
      Stages{all_reduce, "(circulant, ring)"},
      Stages{all_reduce, "(ring, recursive_doubling)"},
      Stages{all_reduce, "(binomial, circulant)"},
      Stages{all_reduce, "(ring, direct)", ":lanes=1"},
      Stages{reduce, "(binomial, reduce_scatter_gather)"},
      Stages{reduce, "(in_order_binary, knomial:k=3)"},
      Stages{broadcast, "(scatter_all_gather, knomial:k=3)"},
      Stages{broadcast, "(ring, chain)"},
      Stages{broadcast, "(binomial, chain)"},
      Stages{broadcast, "(direct, scatter_all_gather)", ":lanes=1"},
      Stages{scatter, "(binomial, linear:k=3)"},
      Stages{scatter, "(direct, binomial)"},
      Stages{gather, "(binomial, linear:k=3)"},
      Stages{gather, "(direct, binomial)"},
      Stages{all_gather, "(circulant, ring)"},
      Stages{all_gather, "(ring, bruck:k=3)"},
      Stages{all_gather, "(sparbit, pat:a=2)", ":lanes=1"},
      Stages{reduce_scatter, "(circulant, ring)"},
      Stages{reduce_scatter, "(pairwise, circulant)"},
      Stages{reduce_scatter, "(recursive_halving, pat:a=2)", ":lanes=1"},
      Stages{all_to_all, "(direct, bruck:k=3)"},
      Stages{all_to_all, "(bruck, pairwise)"},
      Stages{all_to_all, "(linear:k=2, direct)", ":lanes=1"},
      Stages{barrier, "(dissemination, dissemination:k=3)"},
      Stages{barrier, "(dissemination:k=4, dissemination)", ":lanes=1"},
  };
}();

std::vector<Stages> stages_of(Collective collective) {
  std::vector<Stages> stages;
  std::ranges::copy_if(kStages, std::back_inserter(stages),
                       [=](const Stages& one) { return one.collective == collective; });
  expects(!stages.empty(), "every collective with hierarchies has stages");
  return stages;
}

/// The greatest divisor up to the square root.
int lesser_side(int size) {
  int side = static_cast<int>(std::sqrt(size));
  while (size % side != 0) --side;
  return side;
}

Choice choice_with(const Algorithm& row, const std::string& stages, const std::string& groups) {
  Choice choice = parse_choice(row.collective, std::string{row.name} + stages + ":" + groups);
  choice.algorithm = &row;
  return choice;
}

}  // namespace

bool serves(const Choice& choice, int size) {
  try {
    require(choice, size);
    (void)choice.build(size, 0, 0);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::vector<Choice> graph_choices(const Algorithm& row, int size, std::uint64_t seed) {
  std::vector<Graph> graphs{Graph::ring(size), Graph::torus(std::vector{size})};
  // With more ranks, rings through all links of a complete graph would fill the memory.
  constexpr int kMostComplete = 64;
  if (size <= kMostComplete) graphs.push_back(Graph::complete(size));
  add_tori(size, graphs);
  for (int dimensions = 1; 1 << dimensions <= size; ++dimensions)
    if (1 << dimensions == size) graphs.push_back(Graph::hypercube(dimensions));
  if (const std::optional<int> q = slim_fly_of(size)) graphs.push_back(Graph::slim_fly(*q));
  RandomNumbers random{seed_of(seed, size)};
  graphs.push_back(random_graph(size, random));
  std::vector<Choice> choices;
  for (Graph& graph : graphs)
    if (Choice choice = choice_on(row, std::move(graph)); serves(choice, size))
      choices.push_back(std::move(choice));
  return choices;
}

std::vector<Choice> hierarchy_choices(const Algorithm& row, int size, std::uint64_t seed) {
  RandomNumbers random{seed_of(seed, size)};
  const std::vector<Stages> stages = stages_of(row.collective);
  std::vector<Choice> choices;
  // Stages take turns, so that over all sizes every grouping has all stages. If every root is
  // tried, a third of the groupings at each size is enough.
  const std::size_t every = is_rooted(row.collective) ? 3 : 1;
  std::size_t turn = static_cast<std::size_t>(size);
  for (const std::string& groups : groupings(size, random)) {
    const Stages& next = stages[turn / every % stages.size()];
    if (turn++ % every != 0 && size > 2) continue;
    choices.push_back(choice_with(row, next.operands, groups + next.lanes));
  }
  return choices;
}

Choice on_torus(const Algorithm& row, int size) {
  const int side = lesser_side(size);
  return choice_on(row, Graph::torus(std::vector{size / side, side}));
}

Choice in_groups(const Algorithm& row, int size) {
  return choice_with(row, stages_of(row.collective).front().operands,
                     "groups=" + std::to_string(lesser_side(size)));
}

std::vector<Choice> slim_fly_choices(const Algorithm& row, int size) {
  const std::optional<int> q = slim_fly_of(size);
  if (!q) return {};
  if (row.traits.sizes == Sizes::slim_fly)
    return {Choice{.algorithm = &row, .number = row.default_number}};
  if (row.parameter != AlgorithmParameter::graph) return {};
  const Choice choice = choice_on(row, Graph::slim_fly(*q));
  return serves(choice, size) ? std::vector{choice} : std::vector<Choice>{};
}

}  // namespace tutti::verifying
