// Candidates that are made of others: all of them are proved, and say what they are.
#include "selector/structured.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/contract.hpp>

#include "proof/proof.hpp"
#include "selector/network_profile.hpp"
#include "topology/families.hpp"

namespace tutti::v0::detail {
namespace {

using enum Collective;

/// Why a choice cannot even be built for a number of ranks; empty if it can.
std::string misfit(const Choice& choice, const Contract& contract) try {
  require(choice, contract.size);
  for (Rank rank = 0; rank < contract.size; ++rank)
    (void)choice.build(contract.size, contract.root, rank);
  return {};
} catch (const Error& error) {
  return error.what();
}

TEST(Structured, HierarchiesAreProvedOnWhateverHosts) {
  const Catalog catalog;
  const std::vector<std::vector<int>> placements{
      {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 1, 2, 2}, {7, 7, 7, 7, 3, 3, 3, 3}};
  for (const Collective collective : {all_reduce, reduce, broadcast, scatter, gather, all_gather,
                                      reduce_scatter, all_to_all, barrier}) {
    std::size_t proved = 0;
    for (const std::vector<int>& hosts : placements)
      for (const Choice& choice : hierarchies_of(catalog, collective, hosts)) {
        const Contract contract{collective, static_cast<int>(hosts.size())};
        if (!misfit(choice, contract).empty()) continue;
        EXPECT_EQ(prove(choice, contract).refusal, "") << choice.text();
        ++proved;
      }
    EXPECT_GE(proved, placements.size()) << name_of(collective);
  }
}

TEST(Structured, HierarchiesSayWhatTheyAre) {
  const Catalog catalog;
  const std::vector<int> hosts{0, 0, 1, 1};
  for (const Collective collective : {all_reduce, reduce, broadcast, all_gather, all_to_all}) {
    std::set<std::string> texts;
    for (const Choice& choice : hierarchies_of(catalog, collective, hosts)) {
      EXPECT_TRUE(texts.insert(choice.text()).second) << choice.text();
      const Choice read = parse_choice(catalog, collective, choice.text());
      EXPECT_EQ(read.text(), choice.text());
      if (!misfit(choice, {collective, 4}).empty()) continue;
      for (Rank rank = 0; rank < 4; ++rank)
        EXPECT_EQ(read.build(4, 0, rank), choice.build(4, 0, rank)) << choice.text();
    }
  }
}

TEST(Structured, ThereIsNoHierarchyOfScans) {
  const std::vector<int> hosts{0, 0, 1, 1};
  EXPECT_TRUE(hierarchies_of(Catalog{}, scan, hosts).empty());
}

TEST(Structured, RoutersBecomeTheGraphOfTheirFamily) {
  const auto text = [](const char* network, int ranks) {
    const auto graph = router_graph(parse_topology(network), ranks);
    return graph == nullptr ? std::string{} : graph->text();
  };
  EXPECT_EQ(text("torus:4x4", 16), "torus:4x4");
  EXPECT_EQ(text("hypercube:3", 8), "hypercube:3");
  EXPECT_EQ(text("slim_fly:5", 50), "slim_fly:q=5");
  EXPECT_EQ(text("mesh:3", 3), "edges:0-1+1-2");
  EXPECT_EQ(text("torus:4x4:hosts=2", 32), "torus:4x4:per_router=2");
  // Hosts that are routers.
  EXPECT_EQ(text("torus:4x4:direct", 16), "torus:4x4");
  EXPECT_EQ(text("hypercube:3:direct", 8), "hypercube:3");
  EXPECT_EQ(text("slim_fly:5:direct", 50), "slim_fly:q=5");
  EXPECT_EQ(text("mesh:3:direct", 3), "edges:0-1+1-2");
  EXPECT_EQ(text("torus:2x2:direct", 3), "torus:2x2:ranks=0+1+2");
  // Switches without hosts are no place for a rank, and one switch has no links.
  EXPECT_EQ(text("fat_tree:4x4", 16), "");
  EXPECT_EQ(text("rails:2x4", 8), "");
}

TEST(Structured, WhatFollowsAGraphIsACandidateOnIt) {
  const auto graph = router_graph(parse_topology("torus:4x4"), 16);
  std::set<std::string> texts;
  for (const Choice& choice : choices_on(Catalog{}, all_reduce, graph)) texts.insert(choice.text());
  EXPECT_EQ(texts, (std::set<std::string>{"multitree:graph=torus:4x4", "bucket:graph=torus:4x4",
                                          "multi_ring:graph=torus:4x4"}));
  EXPECT_TRUE(choices_on(Catalog{}, all_reduce, nullptr).empty());
}

}  // namespace
}  // namespace tutti::v0::detail
