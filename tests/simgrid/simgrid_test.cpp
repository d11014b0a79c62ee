// tutti's simulator against SimGrid: the same networks, the same schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"
#include "topology/families.hpp"

namespace tutti::v0 {
namespace {

/// Both share links out in the same way, so that only roundings of doubles differ, and bytes below
/// SimGrid's precision: together less than one in a million on all that is asked here. Whatever
/// waits for the wrong message or gets the wrong rate is percents off.
constexpr double kPercent = 0.01;

class OnNetworks : public testing::TestWithParam<const char*> {
 protected:
  void compare_all(const std::vector<Choice>& choices, const std::vector<std::size_t>& sizes,
                   const EndpointCosts& costs = {}) {
    const Topology topology = parse_topology(GetParam());
    for (const Choice& choice : choices)
      for (const std::size_t bytes : sizes) {
        const SimgridOutcome outcome = compare({.choice = choice, .bytes = bytes, .costs = costs},
                                               topology, LatencyModel::behind);
        EXPECT_LT(std::abs(outcome.percent()), kPercent)
            << name_of(choice.algorithm->collective) << " " << choice.text() << " of " << bytes
            << " bytes: " << outcome.tutti << " ns, by SimGrid " << outcome.simgrid << " ns";
      }
  }
};

TEST_P(OnNetworks, EveryAlgorithmTakesWhatSimGridSays) {
  compare_all(simgrid_choices(parse_topology(GetParam()).hosts()), {1 << 10, 1 << 20});
}

// Time of the ranks would hide that of the network.
TEST_P(OnNetworks, SoItDoesWhereRanksTakeNothing) {
  const EndpointCosts nothing{.message = 0, .reduced = 0};
  compare_all({parse_choice(Collective::all_reduce, "ring"),
               parse_choice(Collective::all_reduce, "recursive_doubling"),
               parse_choice(Collective::all_gather, "bruck"),
               parse_choice(Collective::broadcast, "circulant:b=16"),
               parse_choice(Collective::all_to_all, "pairwise"),
               parse_choice(Collective::all_to_all, "direct")},
              {1 << 20}, nothing);
}

INSTANTIATE_TEST_SUITE_P(SimGrid, OnNetworks,
                         testing::ValuesIn(simgrid_networks().begin(), simgrid_networks().end()));

// Links of which no two are alike, and ranks that each send to another one in every round.
class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : random_{seed} {}

  Topology topology() {
    std::vector<Topology::Link> links;
    for (int host = 0; host < kHosts; ++host)
      links.push_back(link(host, kHosts + below(kSwitches)));
    for (int one = 1; one < kSwitches; ++one)
      links.push_back(link(kHosts + one, kHosts + below(one)));
    for (int more = 0; more < 4; ++more)
      links.push_back(link(kHosts, kHosts + 1 + below(kSwitches - 1)));
    return Topology{"random", kHosts, kSwitches, links};
  }
  std::vector<Schedule> schedules() {
    std::vector<Schedule> schedules(kHosts, Schedule{kBlocks});
    for (int round = 0; round < 12; ++round) {
      std::vector<Rank> order(kHosts);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random_);
      const auto one = static_cast<std::uint32_t>(below(kBlocks));
      const Slots sent{Space::out, one}, received{Space::out, (one + 1) % kBlocks};
      for (std::size_t i = 0; i < order.size(); ++i) {
        const Rank next = order[(i + 1) % order.size()];
        const Rank previous = order[(i + order.size() - 1) % order.size()];
        schedules[static_cast<std::size_t>(order[i])].round(
            {Send{next, sent}, RecvReduce{previous, received}});
      }
    }
    return schedules;
  }
  std::vector<std::size_t> blocks() {
    std::vector<std::size_t> blocks;
    // All blocks have one length, since each is received into another one.
    blocks.resize(kBlocks, static_cast<std::size_t>(1000 + below(1'000'000)));
    return blocks;
  }

 private:
  static constexpr int kHosts = 10, kSwitches = 4, kBlocks = 5;
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  Topology::Link link(int a, int b) {
    return {a,
            b,
            {.latency = 100'000'000LL + below(2'000'000) * 1000LL,
             .per_byte = 20'000LL + below(200'000)}};
  }

  std::mt19937 random_;
};

TEST(SimGrid, AgreesOnRandomNetworks) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomNetwork random{seed};
    const Topology topology = random.topology();
    const std::vector<Schedule> schedules = random.schedules();
    const std::vector<std::size_t> blocks = random.blocks();
    const SimgridOutcome outcome{
        .tutti = simulate(schedules, blocks, 1, topology).nanoseconds,
        .simgrid = time_on_simgrid(schedules, blocks, topology, {}, LatencyModel::behind)};
    EXPECT_LT(std::abs(outcome.percent()), kPercent)
        << "seed " << seed << ": " << outcome.tutti << " ns, by SimGrid " << outcome.simgrid;
  }
}

// A million bytes at 100 Gbit/s over two links of a microsecond each, after one of hand-over.
TEST(SimGrid, TakesWhatAMessageTakes) {
  const std::vector<Schedule> schedules{Schedule{1}.round({Send{1, {}}}),
                                        Schedule{1}.round({RecvReduce{0, {}}})};
  const std::vector<std::size_t> blocks{1'000'000};
  for (const LatencyModel latency : {LatencyModel::behind, LatencyModel::native})
    EXPECT_NEAR(time_on_simgrid(schedules, blocks, parse_topology("switch:2"), {}, latency),
                1000 + 80'000 + 2000 + 50'000, 1e-3);
}

TEST(SimGrid, SaysNothingWhereRanksWaitForever) {
  const std::vector<Schedule> schedules{Schedule{1}.round({Recv{1, {}}}), Schedule{1}};
  const std::vector<std::size_t> blocks{8};
  EXPECT_THROW((void)time_on_simgrid(schedules, blocks, parse_topology("switch:2"), {},
                                     LatencyModel::behind),
               std::runtime_error);
}

}  // namespace
}  // namespace tutti::v0
