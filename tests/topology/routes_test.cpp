// Paths are shortest ones, and spread over the network.
#include "topology/routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "topology/families.hpp"
#include "topology/placed.hpp"

namespace tutti::v0 {
namespace {

constexpr const char* kNetworks[]{"switch:5",       "fat_tree:2x3x2",     "dragonfly:2x3x1",
                                  "torus:3x4",      "mesh:2x3:hosts=2",   "hypercube:3",
                                  "slim_fly:3",     "rails:2x3",          "torus:4x3x2:direct",
                                  "mesh:5",         "mesh:4x2:direct",    "torus:5:direct",
                                  "torus:2:direct", "hypercube:3:direct", "slim_fly:3:direct"};

TEST(Routes, AreShortestPaths) {
  for (const char* const text : kNetworks)
    for (const Routing routing : {Routing::fixed, Routing::balanced}) {
      const Topology topology = parse_topology(text);
      Routes routes{topology, routing};
      std::vector<int> path;
      for (int from = 0; from < topology.hosts(); ++from)
        for (int to = 0; to < topology.hosts(); ++to) {
          routes.find(from, to, path);
          int at = from;
          for (const int channel : path) {
            const Topology::Link& link = topology.links()[static_cast<std::size_t>(channel / 2)];
            ASSERT_EQ(channel % 2 == 0 ? link.a : link.b, at) << text;
            at = channel % 2 == 0 ? link.b : link.a;
          }
          EXPECT_EQ(at, to) << text;
          EXPECT_EQ(path.size(), topology.distances(to)[static_cast<std::size_t>(from)]) << text;
        }
    }
}

// Routes of a known grid equal those of a search.
TEST(Routes, OfAGridAreThoseOfASearch) {
  for (const char* const text : {"torus:3x4", "torus:4x4x2:hosts=2", "mesh:2x5", "hypercube:4",
                                 "torus:4x5:direct", "mesh:3x3:direct", "hypercube:4:direct"})
    for (const Routing routing : {Routing::fixed, Routing::balanced}) {
      const Topology known = parse_topology(text);
      ASSERT_TRUE(known.grid().has_value()) << text;
      const Topology searched{known.name(), known.hosts(), known.switches(), known.links()};
      Routes quick{known, routing}, slow{searched, routing};
      std::vector<int> path, other;
      for (int from = 0; from < known.hosts(); ++from)
        for (int to = 0; to < known.hosts(); ++to) {
          quick.find(from, to, path);
          slow.find(from, to, other);
          ASSERT_EQ(path, other) << text << ", from " << from << " to " << to;
        }
    }
}

// Ranks of a host that is a router reach others through it.
TEST(Routes, OfPlacedRanksAreShortestPaths) {
  const std::vector<int> hosts{0, 0, 1, 1, 4, 5, 5};
  for (const char* const text : {"torus:3x2", "torus:3x2:direct", "mesh:6:direct", "switch:6"}) {
    const Topology placed = place_ranks(parse_topology(text), hosts, {});
    Routes routes{placed};
    std::vector<int> path;
    for (int from = 0; from < placed.hosts(); ++from)
      for (int to = 0; to < placed.hosts(); ++to) {
        routes.find(from, to, path);
        EXPECT_EQ(path.size(), placed.distances(to)[static_cast<std::size_t>(from)]) << text;
      }
  }
}

/// @return the most messages on one channel if every host sends to the host at this distance.
int most_on_a_channel(const Topology& topology, Routing routing, int shift) {
  Routes routes{topology, routing};
  std::vector<int> loads(routes.channels(), 0), path;
  for (int host = 0; host < topology.hosts(); ++host) {
    routes.find(host, (host + shift) % topology.hosts(), path);
    for (const int channel : path) ++loads[static_cast<std::size_t>(channel)];
  }
  return *std::ranges::max_element(loads);
}

// Zahavi 2012: D-mod-k has no congestion for shifts where the bisection is full.
TEST(Routes, OfAFullFatTreeDoNotMeetForShifts) {
  for (const char* const text : {"fat_tree:4x4", "fat_tree:2x2x2", "fat_tree:4x4x4"}) {
    const Topology topology = parse_topology(text);
    for (int shift = 1; shift < topology.hosts(); ++shift)
      EXPECT_EQ(most_on_a_channel(topology, Routing::fixed, shift), 1) << text << ", " << shift;
  }
  const Topology tapered = parse_topology("fat_tree:4x4:up=1x2");
  EXPECT_EQ(most_on_a_channel(tapered, Routing::fixed, 4), 2) << "half of the links up";
}

TEST(Routes, ThatAreBalancedTakeAllWays) {
  const Topology topology = parse_topology("fat_tree:16x2");
  Routes routes{topology, Routing::balanced};
  std::vector<int> loads(routes.channels(), 0), path;
  for (int from = 0; from < 16; ++from)
    for (int to = 16; to < 32; ++to) {
      routes.find(from, to, path);
      for (const int channel : path) ++loads[static_cast<std::size_t>(channel)];
    }
  int used = 0;
  for (std::size_t channel = 0; channel < loads.size(); channel += 2) {
    const Topology::Link& link = topology.links()[channel / 2];
    if (link.a != topology.hosts()) continue;  // up from the first leaf
    used += loads[channel] > 0 ? 1 : 0;
    EXPECT_LE(loads[channel], 40) << "16 if all were equal";
  }
  EXPECT_EQ(used, 16);
}

}  // namespace
}  // namespace tutti::v0
