// The shared state of a world's communicators: networks, profiles, and the places of hosts.
#include "selector/shared_config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>

#include "selector/cost_models.hpp"
#include "selector/selector.hpp"
#include "topology/families.hpp"
#include "topology/load.hpp"

namespace tutti::detail {
namespace {

NamedTopology lab() {
  return read_json_topology(R"({"hosts": ["a.lab", "b.lab", "c"], "switches": ["s", "t"],
    "links": [{"from": "a.lab", "to": "s"}, {"from": "b.lab", "to": "s"}, {"from": "c", "to": "t"},
              {"from": "s", "to": "t"}]})");
}

/// Why hosts are not found; empty if they are.
std::string refusal(bool has_names, const std::vector<std::pair<int, std::string>>& hosts) try {
  static_cast<void>(find_hosts("lab.json", {lab()}, has_names, hosts));
  return {};
} catch (const Error& error) {
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  return error.what();
}

TEST(HostNetworks, FindHostsByTheirNames) {
  const HostNetwork found =
      find_hosts("lab.json", {lab()}, true, {{0, "c"}, {2, "a"}, {5, "b.lab"}});
  EXPECT_EQ(found.places, (std::map<int, int>{{0, 2}, {2, 0}, {5, 1}}));
  EXPECT_EQ(find_hosts("lab.json", {lab()}, true, {{0, "c.elsewhere"}}).places.at(0), 2);
  EXPECT_EQ(refusal(true, {{0, "a"}, {1, "d"}}),
            "lab.json: there is no host d in that network, only a.lab, b.lab, c");
  EXPECT_EQ(refusal(true, {{0, "a"}, {1, "a.lab"}}),
            "lab.json: hosts a and a.lab are both a.lab of that network");
  EXPECT_EQ(refusal(true, {{0, "a"}, {1, "a"}}), "") << "one host whose ranks share no memory";
}

TEST(HostNetworks, OfSeveralTreesAreTheOneWithAllHosts) {
  const auto find = [](const std::vector<std::pair<int, std::string>>& hosts) {
    return find_hosts("site.conf",
                      read_slurm_topology("SwitchName=s Nodes=a[1-2]\nSwitchName=t Nodes=b[1-3]"),
                      true, hosts);
  };
  const HostNetwork found = find({{0, "b3.site"}, {1, "b1"}});
  EXPECT_EQ(found.places, (std::map<int, int>{{0, 2}, {1, 0}}));
  EXPECT_EQ(found.topology.hosts(), 3);
  const auto refusal_of = [&](const std::vector<std::pair<int, std::string>>& hosts) {
    try {
      (void)find(hosts);
    } catch (const Error& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_EQ(refusal_of({{0, "a1"}, {1, "a2"}, {2, "b1"}}),
            "site.conf: no link joins hosts a1 and b1, which are in two trees of that network: "
            "expected a job within one tree");
  EXPECT_EQ(refusal_of({{0, "b1"}, {1, "c"}}),
            "site.conf: there is no host c in that network, only a1, a2, b1, b2, b3");
}

TEST(HostNetworks, OfFamiliesTakeHostsInOrder) {
  const HostNetwork found = find_hosts("lab.json", {lab()}, false, {{0, "x"}, {3, "y"}});
  EXPECT_EQ(found.places, (std::map<int, int>{{0, 0}, {3, 1}}));
  EXPECT_EQ(refusal(false, {{0, "w"}, {1, "x"}, {2, "y"}, {3, "z"}}),
            "lab.json has places for 3 hosts, and the ranks are on 4");
}

TEST(HostNetworks, AreNoneOfGpus) {
  try {
    (void)find_hosts("gpus:4x2", read_networks(find_network("gpus:4x2")), false, {{0, "x"}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(
        error.what(),
        "gpus:4x2 is a network of GPUs, several of which are a host; expected one of hosts");
  }
}

std::shared_ptr<SharedConfig> background_of(const std::string& network, std::vector<int> hosts) {
  auto shared_config = std::make_shared<SharedConfig>();
  std::vector<std::pair<int, std::string>> named;
  for (const int host : hosts) named.emplace_back(host, "h" + std::to_string(host));
  shared_config->network = std::make_shared<const HostNetwork>(
      find_hosts(network, read_networks(find_network(network)), false, named));
  return shared_config;
}

Problem all_reduce_of(int ranks, std::size_t bytes,
                      Determinism level = Determinism::rank_identical) {
  static const Operator kSum{OperatorKind::sum};
  return {.contract = {Collective::all_reduce, ranks, 0},
          .type = Datatype::f32,
          .element_bytes = 4,
          .op = &kSum,
          .count = bytes / 4,
          .determinism = level};
}

TEST(Backgrounds, MakeOneNetworkForRanksThatArePlacedAlike) {
  const auto shared_config = background_of("torus:2x2", {0, 1, 2, 3});
  const PlacedCosts alike{.hosts = {0, 1, 2, 3}};
  EXPECT_EQ(shared_config->network_of(alike), shared_config->network_of(alike));
  EXPECT_NE(shared_config->network_of(alike), shared_config->network_of({.hosts = {1, 0, 2, 3}}));
}

TEST(Backgrounds, GiveEachChoiceOneProfile) {
  Profiles profiles;
  const Choice ring = parse_choice(Collective::all_reduce, "ring");
  const Contract contract{Collective::all_reduce, 8, 0};
  EXPECT_EQ(profiles.find(ring, contract), profile_of(ring, 8, 0));
  EXPECT_EQ(profiles.find(ring, contract), profile_of(ring, 8, 0)) << "the one that is kept";
  EXPECT_EQ(profiles.find(ring, {Collective::all_reduce, 4, 0}), profile_of(ring, 4, 0));
}

/// Ranks on the hosts of a network that somebody described.
Selector on_network(const std::string& network, const std::vector<int>& hosts) {
  std::vector<int> each = hosts;
  std::ranges::sort(each);
  each.erase(std::unique(each.begin(), each.end()), each.end());
  CostModel cost_model = network_costs(NetworkSpeed::gigabits_10);
  if (each.size() < hosts.size()) cost_model.inside = kInsideCosts;
  return Selector{
      cost_model,
      nullptr,
      {.hosts = hosts, .transport = "tcp", .shared_config = background_of(network, each)}};
}

bool has(const Selection& selection, const std::string& name) {
  return std::ranges::any_of(selection.candidates, [&](const Candidate& candidate) {
    return candidate.choice.text().starts_with(name) && candidate.refusal.empty();
  });
}

TEST(DescribedNetworks, AreWhatAWorldOfThemChoosesBy) {
  Selector selector =
      on_network("torus:4x4", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const Selection selection = selector.select(all_reduce_of(16, 1 << 20));
  EXPECT_TRUE(selection.on_network);
  EXPECT_NE(selection.explain().find("at the speeds of network torus:4x4"), std::string::npos);
  EXPECT_TRUE(has(selection, "multitree")) << selection.explain();
  EXPECT_TRUE(has(selection, "bucket"));
  EXPECT_FALSE(has(selection, "hierarchical"));
  // Somebody said so, in every run.
  EXPECT_TRUE(selector.select(all_reduce_of(16, 64, Determinism::run_to_run)).on_network);
}

TEST(DescribedNetworks, HaveHierarchiesWhereRanksShareAHost) {
  Selector selector = on_network("switch:4", {0, 0, 1, 1, 2, 2, 3, 3});
  EXPECT_TRUE(has(selector.select(all_reduce_of(8, 1 << 20)), "hierarchical"));
}

TEST(DescribedNetworks, ChargeFartherRanksMore) {
  // Ranks of a mesh's row in order, and in an order in which neighbours lie far apart.
  const auto predicted = [](const std::vector<int>& hosts) {
    Selector selector = on_network("mesh:8", hosts);
    Problem problem = all_reduce_of(8, 1 << 20);
    problem.algorithm = "ring";
    return selector.select(problem).chosen.predicted;
  };
  EXPECT_LT(predicted({0, 1, 2, 3, 4, 5, 6, 7}), predicted({0, 4, 1, 5, 2, 6, 3, 7}));
}

/// Eight ranks of one host, bound to packages.
Selection within_a_host(const std::vector<Locality>& localities) {
  Selector selector{memory_costs(0, 0),
                    nullptr,
                    {.hosts = std::vector<int>(localities.size(), 0),
                     .localities = localities,
                     .transport = "shm"}};
  return selector.select(all_reduce_of(static_cast<int>(localities.size()), 1 << 20));
}

TEST(Localities, MakeGroupsOfPackages) {
  const Selection apart =
      within_a_host({{0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  EXPECT_TRUE(apart.on_network);
  EXPECT_TRUE(has(apart, "hierarchical")) << apart.explain();
  EXPECT_NE(apart.explain().find("assumed of shared memory"), std::string::npos);
  const Selection caches = within_a_host({{0, 0}, {0, 0}, {0, 1}, {0, 1}});
  EXPECT_TRUE(has(caches, "hierarchical")) << "two caches of one package";
}

TEST(Localities, ThatPartNobodyChangeNothing) {
  const Selection unbound = within_a_host({{}, {}, {}, {}});
  EXPECT_FALSE(unbound.on_network);
  EXPECT_EQ(within_a_host({{0, 0}, {0, 0}, {0, 0}, {0, 0}}).explain(), unbound.explain());
  EXPECT_EQ(within_a_host({{0, 0}, {1, 1}, {2, 2}, {3, 3}}).explain(), unbound.explain())
      << "each by itself";
}

}  // namespace
}  // namespace tutti::detail
