// Networks of GPUs: their levels, and what the selector makes of these.
#include "topology/gpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

#include "selector/selector.hpp"
#include "selector/simulate.hpp"
#include "topology/families.hpp"
#include "topology/placed.hpp"
#include "topology/read.hpp"

namespace tutti::v0 {
namespace {

using detail::Problem;
using detail::Selection;
using detail::Selector;

TEST(GpuNetworks, HaveIslandsAndHostsAsLevels) {
  const std::vector<int> islands{0, 0, 1, 1, 2, 2, 3, 3}, hosts{0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(parse_topology("gpus:4x2:islands=2").levels(),
            (std::vector<Level>{{"island", islands}, {"host", hosts}}));
  EXPECT_EQ(parse_topology("gpus:4x2").levels(), (std::vector<Level>{{"host", hosts}}));
  EXPECT_EQ(parse_topology("gpus:8x1:islands=4").levels(),
            (std::vector<Level>{{"island", islands}}));
  EXPECT_TRUE(parse_topology("gpus:8x1").levels().empty());
}

/// @return the sum over the links of the shortest route.
Femtoseconds latency_between(const Topology& topology, int from, int to) {
  int at = from;
  Femtoseconds sum = 0;
  const auto distances = topology.distances(to);
  while (at != to) {
    const auto hops = topology.hops(at);
    const auto next = std::ranges::min_element(
        hops, {}, [&](const auto& hop) { return distances[static_cast<std::size_t>(hop.to)]; });
    sum += topology.links()[static_cast<std::size_t>(next->link)].speed.latency;
    at = next->to;
  }
  return sum;
}

// A message costs what is charged for it in all: half of the quickest kind at its sender, and the
// rest on the way.
TEST(GpuNetworks, ChargeWhatIsAssumedOfEachKindOfLink) {
  const Topology gpus = parse_topology("gpus:4x2:islands=2");
  const Femtoseconds message = gpus.endpoints().message;
  EXPECT_EQ(message + latency_between(gpus, 0, 1), kNvlinkCosts.alpha);
  EXPECT_EQ(message + latency_between(gpus, 1, 5), kRailCosts.alpha);
  const Topology alone = parse_topology("gpus:2x1:islands=2");
  EXPECT_EQ(alone.endpoints().message + latency_between(alone, 0, 1), kPcieCosts.alpha);
  EXPECT_EQ(gpus.assumed(), "kernels, NVLink and PCIe, and rails");
  EXPECT_EQ(parse_topology("gpus:4x2:bandwidth=400G").assumed(), "kernels, NVLink and PCIe");
  EXPECT_EQ(parse_topology("switch:4").assumed(), "");
}

TEST(GpuNetworks, HaveTheRailsThatAreAskedFor) {
  const Topology gpus = parse_topology("gpus:2x2:bandwidth=400G:latency=3us");
  const LinkSpeed rail{.latency = 3'000'000'000, .per_byte = 20'000};
  EXPECT_EQ(std::ranges::count(gpus.links(), rail, &Topology::Link::speed), 4);
}

TEST(GpuNetworks, TakeWhateverHostsThereAre) {
  // Three GPUs on one host, one of them alone, and one on another host.
  const std::vector<int> hosts{7, 7, 7, 3};
  const std::vector<Locality> at{{.island = 0, .rail = 0},
                                 {.island = 0, .rail = 1},
                                 {.island = 1, .rail = 2},
                                 {.island = 0, .rail = 1}};
  const Topology gpus = gpu_network("mine", hosts, at, gpu_speeds());
  EXPECT_EQ(gpus.levels(), (std::vector<Level>{{"island", {0, 0, 1, 2}}, {"host", {0, 0, 0, 1}}}));
  EXPECT_EQ(gpus.distances(0)[1], 2) << "NVLink";
  EXPECT_EQ(gpus.distances(0)[2], 3) << "NVLink's switch, and the host";
  EXPECT_EQ(gpus.distances(1)[3], 2) << "one rail";
  EXPECT_EQ(gpus.distances(2)[3], 4) << "from rail to rail";
  std::vector<Locality> unknown = at;
  unknown[2].rail = -1;
  EXPECT_FALSE(are_on_rails(unknown));
  EXPECT_FALSE(are_on_rails({}));
  try {
    (void)gpu_network("mine", hosts, unknown, gpu_speeds());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(),
                 "network mine: the rail of GPU 2 is not known, expected a number from 0 on");
  }
}

// Rank r on the GPU of its number from behind.
TEST(GpuNetworks, KeepTheirLevelsWhereRanksAreInAnotherOrder) {
  const Topology gpus = parse_topology("gpus:2x2");
  const std::vector<int> order{3, 2, 1, 0};
  EXPECT_EQ(with_hosts_in_order(gpus, order).levels().front().part_of,
            (std::vector<int>{1, 1, 0, 0}));
  EXPECT_EQ(with_hosts_in_order(gpus, order).endpoints(), gpus.endpoints());
}

/// The traffic of an all_reduce.
struct Traffic {
  double time;   // ns
  double rails;  // bytes from GPUs to rails, as the simulator counts them
  double all;    // bytes of all messages
};

Traffic run_on(const Topology& topology, const Choice& choice, std::size_t bytes) {
  const int ranks = topology.hosts();
  const Partition partition{bytes, static_cast<std::size_t>(ranks)};
  std::vector<std::size_t> blocks;
  for (std::size_t block = 0; block < static_cast<std::size_t>(ranks); ++block)
    blocks.push_back(partition.size(block));
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < ranks; ++rank) schedules.push_back(choice.build(ranks, 0, rank));
  const Simulated simulated =
      simulate(schedules, blocks, 1, topology, Routing::fixed, topology.endpoints());
  Traffic run{.time = simulated.nanoseconds, .rails = 0, .all = simulated.bytes};
  for (std::size_t link = 0; link < topology.links().size(); ++link)
    if (topology.links()[link].speed == gpu_speeds().rail)
      run.rails += simulated.carried[2 * link];  // from the GPU
  return run;
}

constexpr std::size_t kLong = std::size_t{64} << 20U;

Problem all_reduce_of(int ranks, std::size_t bytes) {
  return {.contract = {Collective::all_reduce, ranks, 0}, .count = bytes};
}

Selection select_on(const Topology& topology, std::size_t bytes) {
  std::vector<int> hosts(static_cast<std::size_t>(topology.hosts()));  // each rank has its own
  std::iota(hosts.begin(), hosts.end(), 0);
  Selector selector{RankNetwork{topology}, nullptr, hosts, nullptr};
  return selector.select(all_reduce_of(topology.hosts(), bytes));
}

Traffic flat_on(const Topology& topology, std::string_view name) {
  return run_on(topology, parse_choice(Collective::all_reduce, name), kLong);
}

TEST(GpuNetworks, HaveLongVectorsStayOnNvlink) {
  const Topology gpus = parse_topology("gpus:8x4");
  const Choice chosen = select_on(gpus, kLong).chosen.choice;
  EXPECT_TRUE(chosen.text().starts_with("hierarchical(")) << chosen.text();
  const Traffic run = run_on(gpus, chosen, kLong);
  EXPECT_LT(run.rails, run.all / 4) << chosen.text();
  for (const char* const flat : {"ring", "rabenseifner", "circulant", "bine"}) {
    const Traffic other = flat_on(gpus, flat);
    EXPECT_LT(run.time, other.time) << flat;
    EXPECT_LT(run.rails, 1.001 * other.rails) << flat;
  }
  EXPECT_LT(run.rails, 0.7 * flat_on(gpus, "circulant").rails) << "whose peers are anywhere";
}

// On GPUs that have nothing but rails there is nothing to stay on.
TEST(GpuNetworks, HaveNoHierarchiesWhereGpusAreAlone) {
  const std::string text = select_on(parse_topology("gpus:1x8"), kLong).chosen.choice.text();
  EXPECT_FALSE(text.starts_with("hierarchical(")) << text;
}

TEST(GpuNetworks, AreSaidToBeAssumed) {
  const std::string text = select_on(parse_topology("gpus:4x2:islands=2"), kLong).explain();
  EXPECT_NE(text.find("the speeds of network gpus:4x2:islands=2, assumed of kernels, NVLink and "
                      "PCIe, and rails; levels: 4 islands of 2 ranks, 2 hosts of 4 ranks\n"),
            std::string::npos)
      << text.substr(0, 300);
}

/// A communicator of GPUs as they are in gpus:4x2:islands=2.
detail::Placement two_hosts_of_two_islands() {
  detail::Placement around;
  for (int gpu = 0; gpu < 8; ++gpu) {
    around.hosts.push_back(gpu / 4);
    around.localities.push_back({.island = gpu % 4 / 2, .rail = gpu % 4});
  }
  return around;
}

// Ranks with known places of GPUs choose as on the network that describes them.
TEST(GpuNetworks, AreFoundInTheSurroundingsOfRanks) {
  const CostModel cost_model{.costs = kRailCosts,
                             .origin = "assumed of GPUs of several hosts",
                             .inside = kNvlinkCosts,
                             .across = kPcieCosts};
  Selector around{cost_model, nullptr, two_hosts_of_two_islands()};
  const Topology described = parse_topology("gpus:4x2:islands=2");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}, kLong}) {
    const Selection found = around.select(all_reduce_of(8, bytes));
    const Selection expected = select_on(described, bytes);
    EXPECT_EQ(found.chosen.choice.text(), expected.chosen.choice.text());
    EXPECT_EQ(found.chosen.predicted, expected.chosen.predicted);
  }
  const std::string text = around.select(all_reduce_of(8, 8)).explain();
  EXPECT_NE(text.find("assumed of GPUs of several hosts; between islands of a host 10.0 us"),
            std::string::npos);
  EXPECT_NE(text.find("levels: 4 islands of 2 ranks, 2 hosts of 4 ranks\n"), std::string::npos)
      << text.substr(0, 400);
}

// Messages through the host have no known costs within a host, so levels are not used.
TEST(GpuNetworks, NeedCostsWithinHosts) {
  Selector around{{.origin = "assumed"}, nullptr, two_hosts_of_two_islands()};
  const Selection found = around.select(all_reduce_of(8, kLong));
  EXPECT_FALSE(found.on_network);
  EXPECT_EQ(found.explain().find("levels:"), std::string::npos);
}

TEST(GpuNetworks, OfFilesThatMakeNoSenseAreRefused) {
  const auto refusal = [](const std::string& more) -> std::string {
    try {
      (void)read_json_topology(
          R"({"hosts": ["a", "b"], "switches": ["s"], "links": [{"from": "a", "to": "s"},
              {"from": "b", "to": "s"}], )" +
          more + "}");
      return "nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
  };
  const auto level = [&](const std::string& parts) {
    return refusal(R"("levels": [{"name": "island", "parts": )" + parts + "}]");
  };
  EXPECT_EQ(level(R"([["a"], ["b"]])"), "nothing");
  EXPECT_EQ(level(R"([["a"]])"), "level 'island': host 'b' is in no part");
  EXPECT_EQ(level(R"([["a", "b"], ["a"]])"), "level 'island': \"a\" is in two parts");
  EXPECT_EQ(level(R"([["a", "b", "s"]])"), "level 'island': \"s\" is not a host");
  EXPECT_EQ(level(R"([["a", 3]])"), "level 'island': 3 is not a host");
  EXPECT_EQ(level(R"(["a", "b"])"), "level 'island': \"parts\" is not an array of arrays of hosts");
  EXPECT_EQ(refusal(R"("levels": 3)"), "\"levels\" is not an array");
  EXPECT_EQ(refusal(R"("levels": [{"parts": []}])"),
            "\"levels\" has an element without a \"name\"");
  EXPECT_NE(refusal(R"("reduce_gb_per_s": 0)").find("no reduction would end"), std::string::npos);
  EXPECT_EQ(refusal(R"("assumed": 1)"), "\"assumed\" is not a text");
}

TEST(GpuNetworks, OfLevelsWithoutAPartForEachHostAreRefused) {
  try {
    (void)Topology{"mine", 2, 0, {{0, 1}}, {.levels = {{"island", {0}}}}};
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("level 'island' has parts for 1 hosts of 2"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tutti::v0
