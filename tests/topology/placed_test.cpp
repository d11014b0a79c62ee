// Ranks on the hosts of networks, and in parts of these.
#include "topology/placed.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tutti/error.hpp>

#include "topology/families.hpp"

namespace tutti::v0 {
namespace {

const LinkSpeed kMemory{.latency = 1'000'000, .per_byte = 1'000};

TEST(Placed, RanksOfAHostReachEachOtherThroughIt) {
  const Topology placed = place_ranks(single_switch(2), std::vector{0, 0, 1}, kMemory);
  EXPECT_EQ(placed.hosts(), 3);
  EXPECT_EQ(placed.distances(0)[1], 2);
  EXPECT_EQ(placed.distances(0)[2], 4);
}

TEST(Placed, PackagesAndCachesStandBetweenRanksAndTheirHost) {
  const std::vector<Locality> at{{0, 0}, {0, 0}, {0, 1}, {1, 2}, {0, 0}, {0, 0}};
  const Topology placed = place_ranks(single_switch(2), std::vector{0, 0, 0, 0, 1, 1}, kMemory, at);
  EXPECT_EQ(placed.distances(0)[1], 2) << "the same cache";
  EXPECT_EQ(placed.distances(0)[2], 4) << "the same package";
  EXPECT_EQ(placed.distances(2)[3], 5) << "package 1 has one cache only";
  EXPECT_EQ(placed.distances(4)[5], 2) << "its host has no parts";
  EXPECT_EQ(placed.distances(4)[3], 5);
}

TEST(Placed, RanksThatAreNotBoundAreAtTheirHost) {
  const std::vector<Locality> at{{0, 0}, {1, 1}, {}};
  const Topology placed = place_ranks(single_switch(1), std::vector{0, 0, 0}, kMemory, at);
  EXPECT_EQ(placed.distances(0)[1], 4);
  EXPECT_EQ(placed.distances(0)[2], 3);
}

TEST(Placed, HostsAreReordered) {
  const std::vector<int> sides{4};
  const Topology mesh = torus(sides, Ends::open);
  const Topology placed = with_hosts_in_order(mesh, std::vector{3, 0});
  EXPECT_EQ(placed.hosts(), 2);
  EXPECT_EQ(placed.vertices(), mesh.vertices());
  EXPECT_EQ(placed.distances(0)[1], mesh.distances(3)[0]);
}

/// With which words it is refused.
template <class Place>
std::string refusal(Place place) try {
  static_cast<void>(place());
  return {};
} catch (const Error& error) {
  return error.what();
}

TEST(Placed, HostsThatAreNotThereAreRefused) {
  const auto words = "rank 1 is on host 2 of network switch:2, which has 2 hosts";
  EXPECT_EQ(refusal([] {
              return place_ranks(single_switch(2), std::vector{0, 2}, kMemory);
            }),
            words);
  EXPECT_EQ(refusal([] {
              return with_hosts_in_order(single_switch(2), std::vector{0, 2});
            }),
            words);
  EXPECT_EQ(refusal([] {
              return with_hosts_in_order(single_switch(2), std::vector{1, 1});
            }),
            "ranks 0 and 1 are both on host 1");
}

}  // namespace
}  // namespace tutti::v0
