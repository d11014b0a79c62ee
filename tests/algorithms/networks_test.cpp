// Algorithms shaped by networks: rounds and bytes are those of their definitions, and messages go
// where the links are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/graph.hpp>

#include "algorithms/hamiltonian.hpp"
#include "proof/verify.hpp"
#include "refusal.hpp"

namespace tutti::v0 {
namespace {

using enum Collective;

std::vector<Schedule> build_all(Collective collective, const std::string& text, int size) {
  const Choice choice = parse_choice(collective, text);
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, 0, rank));
  return schedules;
}

/// Vectors that the busiest rank sends or receives in all rounds, and those that cross the busiest
/// link.
struct Load {
  std::size_t rounds = 0;
  double rank = 0;
  double link = 0;
};

Load load_of(const std::vector<Schedule>& schedules) {
  Load load;
  for (const Schedule& schedule : schedules) load.rounds = std::max(load.rounds, schedule.rounds());
  for (std::size_t round = 0; round < load.rounds; ++round) {
    std::map<Rank, std::uint32_t> out, in;
    std::map<std::pair<Rank, Rank>, std::uint32_t> links;
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      if (round >= schedules[rank].rounds()) continue;
      for (const Step& step : schedules[rank].round(round)) {
        if (step.kind() != Step::Kind::send) continue;
        out[static_cast<Rank>(rank)] += step.slots().count;
        in[step.peer()] += step.slots().count;
        links[{static_cast<Rank>(rank), step.peer()}] += step.slots().count;
      }
    }
    std::uint32_t most = 0;
    for (const auto* way : {&out, &in})
      for (const auto& [rank, units] : *way) most = std::max(most, units);
    load.rank += most;
    most = 0;
    for (const auto& [link, units] : links) most = std::max(most, units);
    load.link += most;
  }
  load.rank /= schedules.front().units();
  load.link /= schedules.front().units();
  return load;
}

/// Messages that go where no link is.
std::size_t sends_beside_links(const std::vector<Schedule>& schedules, const Graph& graph) {
  std::size_t sends_beside_links = 0;
  for (Rank rank = 0; rank < static_cast<Rank>(schedules.size()); ++rank)
    for (const Step& step : schedules[static_cast<std::size_t>(rank)].steps())
      if (step.kind() == Step::Kind::send)
        sends_beside_links += !std::ranges::binary_search(graph.neighbors(graph.router_of(rank)),
                                                          graph.router_of(step.peer()));
  return sends_beside_links;
}

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

// The measured plans of the multitree's definition.
TEST(Multitree, LoadsRanksAndLinksAsItsDefinitionSays) {
  struct Known {
    const char* graph;
    std::size_t rounds;
    double rank, link;
  };
  for (const Known& known :
       {Known{"slim_fly:q=4", 4, 2.188, 0.375}, Known{"slim_fly:q=5", 4, 1.960, 0.280},
        Known{"slim_fly:q=7", 4, 2.286, 0.224}, Known{"torus:8x8", 16, 2.344, 0.750},
        Known{"torus:4x4x4", 12, 2.406, 0.500}, Known{"ring:16", 16, 1.875, 1.000},
        Known{"hypercube:6", 12, 2.312, 0.469}, Known{"complete:16", 2, 1.875, 0.125}}) {
    const Graph graph = parse_graph(known.graph);
    const auto schedules =
        build_all(all_reduce, "multitree:graph=" + std::string{known.graph}, graph.routers());
    const Load load = load_of(schedules);
    EXPECT_EQ(load.rounds, known.rounds) << known.graph;
    EXPECT_NEAR(load.rank, known.rank, 0.0006) << known.graph;
    EXPECT_NEAR(load.link, known.link, 0.0006) << known.graph;
    EXPECT_EQ(sends_beside_links(schedules, graph), 0u) << known.graph;
  }
}

TEST(Multitree, SendsTheLeastVolumeOnAnyGraph) {
  for (const char* const text : {"ring:7", "torus:3x4", "edges:0-1+0-2+0-3+3-4", "slim_fly:q=3",
                                 "torus:2x3:ranks=5+0+3+1+2+4"}) {
    const Graph graph = parse_graph(text);
    const auto n = static_cast<std::uint32_t>(graph.routers());
    for (const Collective collective : {reduce_scatter, all_gather}) {
      const auto schedules =
          build_all(collective, "multitree:graph=" + std::string{text}, graph.routers());
      std::uint64_t sent = 0;
      for (const Schedule& schedule : schedules)
        for (const Step& step : schedule.steps())
          if (step.kind() == Step::Kind::send) sent += step.slots().count;
      EXPECT_EQ(sent, std::uint64_t{n} * (n - 1)) << text;
      EXPECT_EQ(load_of(schedules).rounds, static_cast<std::size_t>(graph.diameter())) << text;
      EXPECT_EQ(sends_beside_links(schedules, graph), 0u) << text;
    }
  }
}

TEST(Multitree, IsTheBidirectionalRingOnARing) {
  for (const int n : {3, 4, 5, 8, 9}) {
    const auto schedules = build_all(all_reduce, "multitree:graph=ring:" + std::to_string(n), n);
    EXPECT_EQ(load_of(schedules).rounds, static_cast<std::size_t>(n / 2 * 2)) << n;
    for (const Schedule& schedule : schedules)
      for (std::size_t round = 0; round < schedule.rounds(); ++round) {
        const auto steps = schedule.round(round);
        const auto sends = std::ranges::count(steps, Step::Kind::send, &Step::kind);
        EXPECT_LE(sends, 2) << "one block each way";
      }
  }
}

TEST(Multitree, IsTheDirectExchangeOnACompleteGraph) {
  const auto trees = build_all(all_reduce, "multitree:graph=complete:6", 6);
  const auto direct = build_all(all_reduce, "direct", 6);
  const auto sends = [](const Schedule& schedule, std::size_t round) {
    std::set<std::pair<Rank, std::uint32_t>> found;
    for (const Step& step : schedule.round(round))
      if (step.kind() == Step::Kind::send) found.insert({step.peer(), step.slots().first});
    return found;
  };
  for (std::size_t rank = 0; rank < 6; ++rank) {
    ASSERT_EQ(trees[rank].rounds(), 2u);
    for (const std::size_t round : {0u, 1u})
      EXPECT_EQ(sends(trees[rank], round), sends(direct[rank], round));
  }
}

TEST(SlimFly, TakesFiveRoundsAndTwoVectors) {
  for (const int q : {3, 4, 5, 7, 8, 9}) {
    const int n = 2 * q * q;
    const auto schedules = build_all(all_reduce, "slim_fly", n);
    const Load load = load_of(schedules);
    EXPECT_EQ(load.rounds, 5u) << q;
    EXPECT_DOUBLE_EQ(rounded(load.rank), rounded(2 - 1.0 / (q * q))) << q;
  }
}

// Between rows there are links; within a row only some, for what is exchanged there all to all.
TEST(SlimFly, CrossesOneLinkBetweenRows) {
  const int q = 5;
  const Graph graph = Graph::slim_fly(q);
  auto schedules = build_all(all_reduce, "slim_fly", graph.routers());
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    Schedule between{schedules[rank].units()};
    for (const Step& step : schedules[rank].steps())
      if (step.has_peer() && step.peer() / q != static_cast<Rank>(rank) / q) between.add(step);
    EXPECT_GT(between.steps().size(), 0u);
    schedules[rank] = between.end_round();
  }
  EXPECT_EQ(sends_beside_links(schedules, graph), 0u);
}

TEST(Bucket, GoesAlongTheSidesWithTheLeastVolume) {
  for (const auto& [text, rounds] :
       {std::pair{"torus:4x4", 12u}, {"torus:3x4x2", 12u}, {"ring:5", 8u}, {"torus:6x1x2", 12u}}) {
    const Graph graph = parse_graph(text);
    const auto schedules =
        build_all(all_reduce, "bucket:graph=" + std::string{text}, graph.routers());
    const Load load = load_of(schedules);
    const double n = graph.routers();
    EXPECT_EQ(load.rounds, rounds) << text;
    EXPECT_DOUBLE_EQ(rounded(load.rank), rounded(2 * (n - 1) / n)) << text;
    EXPECT_EQ(sends_beside_links(schedules, graph), 0u) << text;
  }
}

TEST(MultiRing, UsesAllLinksOfATorusAtOnce) {
  const Graph graph = parse_graph("torus:4x4");
  const auto schedules = build_all(all_reduce, "multi_ring:graph=torus:4x4", 16);
  const Load load = load_of(schedules);
  EXPECT_EQ(load.rounds, 30u);
  EXPECT_DOUBLE_EQ(load.rank, 2 * 15 / 16.0);
  EXPECT_DOUBLE_EQ(load.link, 2 * 15 / 16.0 / 4) << "four directed rings share the work";
  EXPECT_EQ(sends_beside_links(schedules, graph), 0u);
  const Load solid = load_of(build_all(all_reduce, "multi_ring:graph=torus:5x4x3", 60));
  EXPECT_DOUBLE_EQ(solid.link, 2 * 59 / 60.0 / 6);
}

TEST(HamiltonianCycles, AreFoundOfAllToriOfUpToSixtyFourRouters) {
  const auto check = [](const std::vector<int>& sides, std::size_t cycles) {
    const Graph torus = Graph::torus(sides);
    EXPECT_EQ(hamiltonian_cycles(torus).size(), cycles) << torus.text();
  };
  for (int a = 2; a <= 32; ++a)
    for (int b = 2; a * b <= 64; ++b) {
      if (a * b > 4) check({a, b}, a == 2 || b == 2 ? 1 : 2);
      for (int c = 3; a * b * c <= 64; ++c)
        check({a, b, c}, a == 2 && b == 2 ? 2 : a == 2 || b == 2 ? 2 : 3);
    }
}

/// Expects this many cycles along links of the graph, which use each link once at most.
void expect_cycles(const Graph& graph, std::size_t count) {
  const auto cycles = hamiltonian_cycles(graph);
  EXPECT_EQ(cycles.size(), count) << graph.text();
  std::set<std::pair<int, int>> links;
  for (const std::vector<int>& cycle : cycles) {
    const std::set<int> seen{cycle.begin(), cycle.end()};
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(graph.routers())) << graph.text();
    EXPECT_EQ(cycle.size(), seen.size()) << graph.text();
    for (std::size_t at = 0; at < cycle.size() && cycle.size() > 2; ++at) {
      const int a = cycle[at];
      const int b = cycle[(at + 1) % cycle.size()];
      EXPECT_TRUE(std::ranges::binary_search(graph.neighbors(a), b)) << graph.text();
      EXPECT_TRUE(links.insert(std::minmax(a, b)).second) << graph.text();
    }
  }
}

// A search for each rank would take longer than all else of a profile.
TEST(HamiltonianCycles, AreSearchedOnceForAllCopiesOfAGraph) {
  const Graph graph = parse_graph("torus:4x4x4");
  const Graph copy = graph.with_ranks_on({3, 2, 1, 0});
  EXPECT_EQ(&graph.rings(), &copy.rings());
  EXPECT_EQ(graph.rings(), hamiltonian_cycles(graph));
  EXPECT_NE(&graph.rings(), &parse_graph("torus:4x4x4").rings());
  EXPECT_THROW((void)parse_graph("slim_fly:q=5").rings(), Error);
}

TEST(HamiltonianCycles, ShareNoLink) {
  struct Known {
    const char* graph;
    std::size_t cycles;
  };
  for (const Known& known :
       {Known{"ring:5", 1},      Known{"ring:2", 1},      Known{"ring:1", 1},
        Known{"complete:3", 1},  Known{"complete:4", 1},  Known{"complete:5", 2},
        Known{"complete:6", 2},  Known{"complete:7", 3},  Known{"complete:12", 5},
        Known{"complete:13", 6}, Known{"torus:3x3", 2},   Known{"torus:4x4", 2},
        Known{"torus:5x5", 2},   Known{"torus:6x3", 2},   Known{"torus:3x6", 2},
        Known{"torus:8x4", 2},   Known{"torus:1x7", 1},   Known{"torus:5x4", 2},
        Known{"torus:2x7", 1},   Known{"torus:2x2", 1},   Known{"torus:4x4x4", 3},
        Known{"torus:5x3x2", 2}, Known{"torus:2x5x2", 2}, Known{"torus:3x1x4x5", 3},
        Known{"hypercube:1", 1}, Known{"hypercube:2", 1}, Known{"hypercube:5", 2},
        Known{"hypercube:6", 3}})
    expect_cycles(parse_graph(known.graph), known.cycles);
}

TEST(HamiltonianCycles, AreFoundOfLongTori) {
  for (int a = 2; a <= 5; ++a)
    for (int b = 3; b <= 64; ++b) {
      expect_cycles(Graph::torus(std::vector{a, b}), a == 2 ? 1 : 2);
      expect_cycles(Graph::torus(std::vector{b, a}), a == 2 ? 1 : 2);
    }
  expect_cycles(Graph::torus(std::vector{21, 32}), 2);
}

TEST(Networks, WhatDoesNotFitIsRefusedInOneSentence) {
  EXPECT_EQ(refusal(all_reduce, "multitree", 4),
            "it needs a network, and none is given: write for example "
            "multitree:graph=torus:4x4");
  EXPECT_EQ(refusal(all_gather, "bucket", 4),
            "it needs a network, and none is given: write for example bucket:graph=torus:4x4");
  EXPECT_EQ(refusal(all_reduce, "multitree:graph=torus:4x4", 8),
            "it needs one rank on each router: the graph has 16 routers with 16 ranks, and there "
            "are 8 ranks");
  EXPECT_EQ(refusal(all_reduce, "multitree:graph=ring:4:per_router=2", 8),
            "it needs one rank on each router: the graph has 4 routers with 8 ranks, not one on "
            "each, and there are 8 ranks");
  EXPECT_EQ(refusal(all_reduce, "multitree:graph=ring:3:ranks=0+0+1", 3),
            "it needs one rank on each router: the graph has 3 routers with 3 ranks, not one on "
            "each, and there are 3 ranks");
  EXPECT_EQ(refusal(all_reduce, "bucket:graph=hypercube:3", 8),
            "it needs a torus such as torus:4x4, not hypercube:3");
  EXPECT_EQ(refusal(all_reduce, "bucket:graph=torus:2x2:ranks=1+0+2+3", 4),
            "it needs rank r on router r");
  EXPECT_EQ(
      refusal(all_reduce, "multi_ring:graph=edges:0-1+1-2", 3),
      "it needs rings that share no link; these are known for rings, complete graphs, tori and "
      "hypercubes, but not for edges:0-1+1-2");
  EXPECT_EQ(refusal(all_reduce, "slim_fly", 49),
            "it supports 2 q^2 ranks for prime powers q from 3 on only, and there are 49 ranks");
  EXPECT_EQ(refusal(all_reduce, "slim_fly", 72).find("it supports 2 q^2"), 0u) << "6 is none";
  EXPECT_EQ(refusal(all_reduce, "multitree:graph=torsu:4x4", 16).find("unknown graph 'torsu'"), 0u);
  EXPECT_EQ(refusal(all_reduce, "multitree:k=4", 16),
            "unknown parameter 'k=4' in 'multitree:k=4': expected multitree:graph=torus:4x4");
}

}  // namespace
}  // namespace tutti::v0
