// Graphs: families against their definitions, text back and forth, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <tutti/error.hpp>
#include <tutti/spi/graph.hpp>

#include "algorithms/finite_field.hpp"

namespace tutti::v0 {
namespace {

std::string refusal(const auto& work) {
  try {
    (void)work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing is refused";
}

std::string parse_refusal(const char* text) {
  return refusal([text] { return parse_graph(text); });
}

std::string list_refusal(const char* text) {
  return refusal([text] { return read_edge_list(text); });
}

TEST(Fields, ObeyTheirLaws) {
  for (const int q : {2, 3, 4, 5, 7, 8, 9, 11, 16, 25, 27}) {
    const FiniteField field{q};
    std::set<int> powers{};
    for (int e = 0; e < q - 1; ++e) powers.insert(field.power(e));
    EXPECT_EQ(powers.size(), static_cast<std::size_t>(q - 1)) << q;
    EXPECT_EQ(powers.count(0), 0u) << q;
    for (int a = 0; a < q; ++a)
      for (int b = 0; b < q; ++b) {
        EXPECT_EQ(field.minus(field.plus(a, b), b), a);
        EXPECT_EQ(field.times(a, b), field.times(b, a));
        EXPECT_EQ(field.times(a, b) == 0, a == 0 || b == 0);
        for (int c = 0; c < std::min(q, 9); ++c) {
          EXPECT_EQ(field.times(a, field.plus(b, c)),
                    field.plus(field.times(a, b), field.times(a, c)));
          EXPECT_EQ(field.times(a, field.times(b, c)), field.times(field.times(a, b), c));
        }
      }
  }
}

TEST(Fields, ArePrimePowersOnly) {
  std::vector<int> found{};
  for (int q = -1; q <= 32; ++q)
    if (prime_power(q)) found.push_back(q);
  EXPECT_EQ(found, (std::vector{2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32}));
}

TEST(Graphs, SlimFliesHaveTheirDegreeAndDiameterTwo) {
  struct Known {
    int q, routers, degree;
  };
  for (const Known& known :
       {Known{3, 18, 5}, Known{4, 32, 6}, Known{5, 50, 7}, Known{7, 98, 11}, Known{8, 128, 12},
        Known{9, 162, 13}, Known{11, 242, 17}, Known{13, 338, 19}, Known{17, 578, 25}}) {
    const Graph graph = Graph::slim_fly(known.q);
    EXPECT_EQ(graph.routers(), known.routers) << known.q;
    EXPECT_EQ(graph.degree(), known.degree) << known.q;
    EXPECT_EQ(graph.edges().size(), static_cast<std::size_t>(known.routers * known.degree / 2))
        << "all degrees are equal, q=" << known.q;
    EXPECT_EQ(graph.diameter(), 2) << known.q;
  }
}

TEST(Graphs, OfOtherFamiliesHaveTheirCounts) {
  struct Known {
    const char* text;
    int routers, degree, diameter;
    std::size_t edges;
  };
  for (const Known& known :
       {Known{"ring:1", 1, 0, 0, 0}, Known{"ring:2", 2, 1, 1, 1}, Known{"ring:7", 7, 2, 3, 7},
        Known{"hypercube:0", 1, 0, 0, 0}, Known{"hypercube:6", 64, 6, 6, 192},
        Known{"torus:5", 5, 2, 2, 5}, Known{"torus:4x4", 16, 4, 4, 32},
        Known{"torus:8x8", 64, 4, 8, 128}, Known{"torus:4x4x4", 64, 6, 6, 192},
        Known{"torus:2x3", 6, 3, 2, 9}, Known{"torus:2x1x2", 4, 2, 2, 4},
        Known{"complete:1", 1, 0, 0, 0}, Known{"complete:16", 16, 15, 1, 120},
        Known{"edges:0-1+1-2+2-3", 4, 2, 3, 3}, Known{"edges:0-3+0-1+0-2", 4, 3, 2, 3}}) {
    const Graph graph = parse_graph(known.text);
    EXPECT_EQ(graph.routers(), known.routers) << known.text;
    EXPECT_EQ(graph.ranks(), known.routers) << known.text;
    EXPECT_EQ(graph.degree(), known.degree) << known.text;
    EXPECT_EQ(graph.diameter(), known.diameter) << known.text;
    EXPECT_EQ(graph.edges().size(), known.edges) << known.text;
  }
}

TEST(Graphs, NeighborsAreMutualAndAscending) {
  for (const char* const text : {"ring:7", "torus:3x4x2", "hypercube:4", "slim_fly:q=4"}) {
    const Graph graph = parse_graph(text);
    for (int a = 0; a < graph.routers(); ++a) {
      EXPECT_TRUE(std::ranges::adjacent_find(graph.neighbors(a), std::ranges::greater_equal{}) ==
                  graph.neighbors(a).end());
      for (const int b : graph.neighbors(a))
        EXPECT_TRUE(std::ranges::binary_search(graph.neighbors(b), a)) << text;
    }
  }
  const Graph torus = parse_graph("torus:3x4");
  const auto sides = torus.neighbors(5);
  EXPECT_EQ((std::vector<int>{sides.begin(), sides.end()}), (std::vector{1, 4, 6, 9}));
}

TEST(Graphs, TextReadsBack) {
  for (const char* const text :
       {"ring:8", "hypercube:3", "torus:4x4x2", "complete:5", "slim_fly:q=5", "edges:0-1+0-2+1-2",
        "ring:4:per_router=2", "ring:3:ranks=2+0+1", "edges:0-1+1-2:ranks=0+2",
        "torus:2x2:ranks=0+0+1+1+2+2"}) {
    const Graph graph = parse_graph(text);
    EXPECT_EQ(graph.text(), text);
    EXPECT_EQ(parse_graph(graph.text()), graph);
  }
  EXPECT_EQ(Graph::from_edges(1, {}).text(), "edges:") << "one router";
  EXPECT_EQ(parse_graph("edges:"), Graph::from_edges(1, {}));
  EXPECT_EQ(parse_graph("edges:2-1+1-0").text(), "edges:0-1+1-2");
  EXPECT_EQ(parse_graph("ring:2:ranks=0+0+1+1").text(), "ring:2:per_router=2");
  EXPECT_EQ(parse_graph("ring:2:per_router=1").text(), "ring:2");
  EXPECT_FALSE(parse_graph("ring:4") == parse_graph("complete:4"));
  EXPECT_FALSE(parse_graph("ring:4") == parse_graph("ring:4:ranks=1+0+2+3"));
}

TEST(Graphs, RanksSitWhereTheTextSays) {
  const Graph graph = parse_graph("ring:3:per_router=2");
  EXPECT_EQ(graph.ranks(), 6);
  EXPECT_EQ(graph.router_of(4), 2);
  EXPECT_EQ(parse_graph("ring:3:ranks=2+0+1").router_of(0), 2);
}

TEST(Graphs, BadTextIsRefusedInWords) {
  EXPECT_EQ(parse_refusal("tours:4x4"),
            "unknown graph 'tours': choose from ring, hypercube, torus, complete, slim_fly, edges; "
            "did you mean torus?");
  EXPECT_EQ(parse_refusal("ring"),
            "'ring' has no size: write for example ring:8, torus:4x4, "
            "slim_fly:q=5 or edges:0-1+1-2");
  EXPECT_EQ(parse_refusal("ring:x"), "'x' in 'ring:x' is not a number");
  EXPECT_EQ(parse_refusal("torus:4x"), "'' in 'torus:4x' is not a number");
  EXPECT_EQ(parse_refusal("torus:4x0"), "the sides of a torus are 1 or more, not 0");
  EXPECT_EQ(parse_refusal("slim_fly:5"), "'slim_fly:5' lacks its q: write slim_fly:q=5");
  EXPECT_EQ(parse_refusal("slim_fly:q=6"),
            "the q of a Slim Fly is a prime power from 3 on, such as 3, 4, 5, 7, 8 or 9, not 6");
  EXPECT_EQ(parse_refusal("slim_fly:q=2").find("the q of a Slim Fly is"), 0u);
  EXPECT_EQ(parse_refusal("hypercube:17"), "a hypercube has 0 .. 16 dimensions, not 17");
  EXPECT_EQ(parse_refusal("complete:60000"),
            "the complete graph would have 60000 routers and 1799970000 links; there may be "
            "1 .. 65536 and at most 4194304");
  EXPECT_EQ(parse_refusal("torus:65536x65536").find("the torus would have 4294967296 routers"), 0u);
  EXPECT_EQ(parse_refusal("edges:0-1-2"), "'0-1-2' in 'edges:0-1-2' is not a link such as 0-1");
  EXPECT_EQ(parse_refusal("edges:0-1+1-1"), "router 1 is linked with itself");
  EXPECT_EQ(parse_refusal("edges:0-1+1-0"), "the link 0 - 1 is given twice");
  EXPECT_EQ(parse_refusal("edges:0-1+2-3"), "router 2 is not reachable from router 0");
  EXPECT_EQ(parse_refusal("edges:0-2147483647").find("the list of links would have 2147483648"),
            0u);
  EXPECT_EQ(parse_refusal("ring:4:rank=2"),
            "unknown parameter 'rank=2' in 'ring:4:rank=2': expected ranks=2+0+1 or per_router=2");
  EXPECT_EQ(parse_refusal("ring:4:ranks=0+4"), "rank 1 sits on router 4, beyond routers 0 .. 3");
  EXPECT_EQ(parse_refusal("ring:4:per_router=99999").find("with this number of ranks per router"),
            0u);
  EXPECT_EQ(parse_refusal("ring:4:per_router=0").find("with this number of ranks per router"), 0u);
}

TEST(Graphs, EdgeListsAreRead) {
  const Graph graph = read_edge_list("# a path\n0 1\n\n  2\t1  # its end\r\n");
  EXPECT_EQ(graph, parse_graph("edges:0-1+1-2"));
  EXPECT_EQ(read_edge_list("0 1\nrank 1 0\nrank 0 1"), parse_graph("edges:0-1:ranks=1+0"));
}

TEST(Graphs, BadEdgeListsNameLineAndCause) {
  EXPECT_EQ(list_refusal(""), "the list has no link");
  EXPECT_EQ(list_refusal("0 1\n0 x"), "line 2: 'x' is not a number in 0 .. 65535");
  EXPECT_EQ(list_refusal("0 65536"), "line 1: '65536' is not a number in 0 .. 65535");
  EXPECT_EQ(list_refusal("0 -1"), "line 1: '-1' is not a number in 0 .. 65535");
  EXPECT_EQ(list_refusal("# nothing\n0 1 2"),
            "line 2: expected two routers such as '0 1', or a "
            "rank and its router such as 'rank 5 2'");
  EXPECT_EQ(list_refusal("0 1\n1 1"), "line 2: router 1 is linked with itself");
  EXPECT_EQ(list_refusal("0 1\n2 1\n1 0"), "line 3: the link 0 - 1 is in line 1 already");
  EXPECT_EQ(list_refusal("0 1\nrank 0"),
            "line 2: expected a rank and its router such as 'rank 5 2'");
  EXPECT_EQ(list_refusal("0 1\nrank 0 1\nrank 0 0"),
            "line 3: rank 0 has its router from line 2 already");
  EXPECT_EQ(list_refusal("0 1\nrank 1 1"), "no line has the router of rank 0");
  EXPECT_EQ(list_refusal("0 1\nrank 0 2"), "line 2: router 2 has no link");
  EXPECT_EQ(list_refusal("0 1\n3 2"), "router 2 is not reachable from router 0");
}

TEST(Graphs, TreesAreShortestPaths) {
  for (const char* const text : {"ring:1", "ring:6", "torus:4x3", "slim_fly:q=3", "complete:9"}) {
    const Graph graph = parse_graph(text);
    const auto n = static_cast<std::size_t>(graph.routers());
    const SpanningTrees& trees = graph.trees();
    EXPECT_EQ(trees.deepest, std::ranges::max(trees.depth));
    for (std::size_t root = 0; root < n; ++root) {
      const std::vector<int> distances = graph.distances(static_cast<int>(root));
      for (std::size_t u = 0; u < n; ++u) {
        EXPECT_EQ(trees.depth[u * n + root], distances[u]) << text;
        const std::size_t parent = trees.parent[u * n + root];
        if (u == root) {
          EXPECT_EQ(parent, root);
          continue;
        }
        EXPECT_EQ(distances[parent] + 1, distances[u]) << text;
        EXPECT_TRUE(std::ranges::binary_search(graph.neighbors(static_cast<int>(u)),
                                               static_cast<int>(parent)));
      }
    }
    EXPECT_EQ(&Graph{graph}.trees(), &trees) << "copies share them";
  }
  EXPECT_EQ(refusal([] { return Graph::ring(5000).trees(); }),
            "trees are made for up to 4096 routers, not 5000");
}

}  // namespace
}  // namespace tutti::v0
