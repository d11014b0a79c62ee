// Every option changes what it says it changes, and nothing else.
#include <array>
#include <string>
#include <utility>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/memory.hpp>

#include "selector/cost_models.hpp"
#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using enum Collective;

Case chain_case(std::size_t segment) {
  return {.collective = broadcast,
          .algorithm = "chain",
          .size = 4,
          .counts = {10'000},
          .segment = segment,
          .model = model_of(Datatype::f32, OperatorKind::sum)};
}

/// Transfers, and virtual time, of one broadcast.
std::pair<std::uint64_t, Duration> cost_of(std::size_t segment, int in_flight) {
  World world{{.cluster = {.size = 4,
                           .delivery = sim::Delivery::rendezvous,
                           .beta_ps = 10'000,
                           .jitter = Duration{0}},
               .communicator = {.segments_in_flight = in_flight}}};
  Experiment experiment{chain_case(segment)};
  EXPECT_EQ(run(world, experiment), "");
  return {world.cluster().transfers(), world.cluster().now()};
}

TEST(OptionsTest, SegmentsPipelineAChain) {
  const auto [whole_transfers, whole_time] = cost_of(Options::kWhole, 4);
  const auto [transfers, time] = cost_of(4000, 4);
  EXPECT_EQ(whole_transfers, 6u) << "three messages";
  EXPECT_EQ(transfers, 60u) << "three messages for each of ten segments";
  EXPECT_LT(time, whole_time);
}

TEST(OptionsTest, MoreSegmentsInFlightTakeLessTime) {
  EXPECT_LT(cost_of(4000, 4).second, cost_of(4000, 1).second);
}

// circulant_blocks cuts a block that is larger than the rest; other algorithms pass it on whole.
TEST(OptionsTest, PartsOfUnequalBlocksTakeLessTime) {
  const auto time_of = [](std::string_view algorithm) {
    World world{{.cluster = {.size = 13,
                             .delivery = sim::Delivery::eager,
                             .beta_ps = 10'000,
                             .jitter = Duration{0}}}};
    std::vector<std::size_t> counts(13, 10);
    counts[5] = 100'000;
    Experiment experiment{{.collective = all_gather,
                           .algorithm = std::string{algorithm},
                           .size = 13,
                           .counts = counts,
                           .model = model_of(Datatype::f32, OperatorKind::sum)}};
    EXPECT_EQ(run(world, experiment), "");
    return world.cluster().now();
  };
  const Duration parts = time_of("circulant_blocks");
  for (const char* const other : {"ring", "circulant", "bruck", "sparbit", "pat"})
    EXPECT_LT(2 * parts, time_of(other)) << other;
}

TEST(OptionsTest, TheDefaultSegmentIsTheAlgorithms) {
  World world{2};
  std::vector<float> data(1'000'000);
  const Plan chain = world[0].plan().broadcast(std::span{data}, 0, {.algorithm = "chain"});
  const Choice choice = parse_choice(broadcast, "chain");
  EXPECT_EQ(chain.segment(), choice.algorithm->segment_bytes);
  const Plan binomial = world[0].plan().broadcast(std::span{data}, 0, {.algorithm = "binomial"});
  EXPECT_EQ(binomial.segment(), 0u);
}

TEST(OptionsTest, CountsAreReadDuringTheCallOnly) {
  World world{3};
  std::vector<std::vector<int>> out(3, std::vector<int>(6));
  std::vector<std::vector<int>> in{{1}, {2, 2}, {3, 3, 3}};
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<std::size_t> counts{1, 2, 3};
    std::string algorithm{"ring"};
    tasks.push_back(
        task_of(rank, world[rank].async().all_gather(std::span<const int>{in[r]}, std::span{out[r]},
                                                     {.algorithm = algorithm, .counts = counts})));
    counts.assign(3, 77);
    algorithm = "gone";
  }
  ASSERT_TRUE(world.drive(tasks));
  for (const auto& result : out) EXPECT_EQ(result, (std::vector<int>{1, 2, 2, 3, 3, 3}));
}

TEST(OptionsTest, ExplainNamesTheSegmentsOfEachCandidate) {
  World world{2};
  std::vector<float> data(100);
  const auto explained = [&](std::size_t segment) {
    return world[0].explain(call::all_reduce(data, std::span{data}, sum), {.segment = segment});
  };
  for (const std::size_t segment : {std::size_t{1}, std::size_t{64}})
    EXPECT_NE(explained(segment).find(", segments of " + std::to_string(segment) + " bytes: "),
              std::string::npos)
        << explained(segment);
  for (const std::size_t segment : {Options::kWhole, 400 * sizeof(float)})
    EXPECT_EQ(explained(segment).find("segments of"), std::string::npos) << explained(segment);
}

TEST(OptionsTest, ExplainNamesTheChoiceAndTheRejected) {
  World world{3};
  std::vector<float> data(100);
  const Operator ordered{[](const void*, const void*, void*, std::size_t) {}, false};
  const std::string text = world[0].explain(call::all_reduce(data, std::span{data}, ordered));
  int rejected = 0;
  int served = 0;
  for (const Algorithm& row : catalog()) {
    if (row.collective != all_reduce) continue;
    const bool serves =
        admits(row.traits.sizes, world.size()) && holds(row.traits.ordered, world.size(), Rank{0});
    ++(serves ? served : rejected);
    const std::size_t begin = text.find("\n  " + std::string{row.name});
    ASSERT_NE(begin, std::string::npos) << row.name << " is missing in: " << text;
    const std::string line = text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
    EXPECT_EQ(line.find("left out, ") == std::string::npos, serves) << line;
    EXPECT_EQ(line.find(" us") != std::string::npos, serves) << line;
  }
  EXPECT_GT(rejected, 0) << "the test must see a rejection";
  EXPECT_GT(served, 0);
  EXPECT_EQ(world.cluster().transfers(), 0u);
}

TEST(OptionsTest, WhatNeedsANetworkOrGroupsIsLeftOutUntilItHasThem) {
  World world{4};
  std::vector<float> data(100);
  const Call sums = call::all_reduce(data, std::span{data}, sum);
  const std::string text = world[0].explain(sums);
  for (const char* const line : {"\n  multitree: left out, it needs a network, and none is given",
                                 "\n  hierarchical: left out, it needs two algorithms and groups",
                                 "\n  slim_fly: left out, it supports 2 q^2 ranks"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " is missing in: " << text;
  const std::string forced = world[0].explain(sums, {.algorithm = "multitree:graph=torus:2x2"});
  EXPECT_NE(forced.find("ranks: multitree:graph=torus:2x2 (forced)"), std::string::npos) << forced;
  try {
    (void)world[0].explain(sums, {.algorithm = "multitree:graph=ring:5"});
    ADD_FAILURE() << "five routers are not four";
  } catch (const Error& error) {
    EXPECT_EQ(std::string{error.what()}.find(
                  "all_reduce: algorithm multitree:graph=ring:5 cannot serve: it needs one rank"),
              0u)
        << error.what();
  }
}

TEST(OptionsTest, HostsAreTheGroupsWhereNoneAreSaid) {
  std::vector<float> data(64);
  const Call sums = call::all_reduce(data, std::span{data}, sum);
  const auto explained = [&](std::vector<int> hosts) {
    sim::Cluster cluster{{.size = 4}};
    Communicator rank = make_communicator(
        {.transport = cluster.transport(0), .hosts = std::move(hosts)}, make_host_memory(), {});
    return rank.explain(sums, {.algorithm = "hierarchical(circulant, ring)"});
  };
  EXPECT_NE(
      explained({3, 3, 5, 5}).find("ranks: hierarchical(circulant, ring):groups=2+2 (forced)"),
      std::string::npos);
  EXPECT_NE(explained({0, 1, 0, 1}).find("hierarchical(circulant, ring):ranks=0+1+0+1 (forced)"),
            std::string::npos);
  try {
    (void)explained({});
    ADD_FAILURE() << "nobody knows the hosts";
  } catch (const Error& error) {
    EXPECT_EQ(std::string{error.what()}.find(
                  "all_reduce: algorithm hierarchical(circulant, ring) cannot serve: it has no "
                  "groups, and the hosts of its ranks are unknown"),
              0u)
        << error.what();
  }
}

// The same call over the same ranks: what differs is what messages and bytes are taken to cost.
TEST(OptionsTest, ChoicesFollowTheTariffAndNameIt) {
  std::vector<float> data(8192);
  const auto explained = [&](const CostModel& cost_model, const Options& options = {}) {
    sim::Cluster cluster{{.size = 4}};
    Communicator rank = make_communicator(
        {.transport = cluster.transport(0), .cost_model = cost_model}, make_host_memory(), {});
    return rank.explain(call::all_reduce(data, std::span{data}, sum), options);
  };
  const std::string slow = explained({{.alpha = 25'000'000'000, .beta = 8'000'000}, "slow bytes"});
  EXPECT_NE(slow.find("ranks: rabenseifner (least predicted time)\n  at 25.0 us per message, 8.000 "
                      "ns per byte moved, 0.000 ns per byte reduced, slow bytes\n"),
            std::string::npos)
      << slow;
  const std::string dear = explained({{.alpha = 99'000'000'000, .beta = 50'000}, "dear messages"});
  EXPECT_NE(dear.find("ranks: recursive_doubling (least predicted time)\n  at 99.0 us per message, "
                      "0.050 ns per byte moved, 0.000 ns per byte reduced, dear messages\n"),
            std::string::npos)
      << dear;
  const std::string turns = explained({{.alpha = 1'000'000'000, .round = 99'000'000'000}, "turns"});
  EXPECT_NE(
      turns.find("ranks: one_shot (least predicted time)\n  at 1.0 us per message, 99.0 us per "
                 "round, 0.000 ns per byte moved, 0.000 ns per byte reduced, turns\n"),
      std::string::npos)
      << turns;
  const CostModel memory{kDefaultCosts, "of memory", detail::kVisibleCosts};
  const std::string hidden = explained(memory);
  EXPECT_NE(hidden.find("recursive_doubling (least predicted time)\n  at 4.0 us"),
            std::string::npos)
      << hidden;
  const std::string seen = explained(memory, {.visible = true});
  EXPECT_NE(seen.find("rabenseifner (least predicted time)\n  at 0.5 us"), std::string::npos)
      << seen;
}

// A radix that needs fewer rounds, of more messages each, where to wait is what costs; but the
// default where bits would depend on it.
TEST(OptionsTest, RadicesFollowTheTariffWhereNoBitsDependOnThem) {
  const auto explained = [](const LinkCosts& costs, int size, const Call& call) {
    sim::Cluster cluster{{.size = size}};
    Communicator rank =
        make_communicator({.transport = cluster.transport(0), .cost_model = {costs, "a test"}},
                          make_host_memory(), {});
    return rank.explain(call);
  };
  const auto names = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  const LinkCosts dear_rounds{.alpha = 1'000'000'000, .round = 99'000'000'000};
  EXPECT_TRUE(names(explained(kDefaultCosts, 4, call::barrier()), "ranks: dissemination:k=2 ("));
  EXPECT_TRUE(names(explained(dear_rounds, 4, call::barrier()), "ranks: dissemination:k=4 ("));
  EXPECT_TRUE(names(explained(dear_rounds, 8, call::barrier()), "ranks: dissemination:k=8 ("));
  EXPECT_FALSE(names(explained(dear_rounds, 4, call::barrier()), "k=8")) << "it would be k=4";
  EXPECT_FALSE(names(explained(dear_rounds, 2, call::barrier()), "k=4")) << "it would be k=2";
  std::vector<float> data(8);
  const Call gather = call::all_gather(std::span{data}.first(2), std::span{data});
  EXPECT_TRUE(names(explained(dear_rounds, 4, gather), "ranks: bruck:k=4 ("));
}

TEST(OptionsTest, ParametersAreTriedWhereBitsMayDependOnSizes) {
  sim::Cluster cluster{{.size = 4}};
  Communicator rank =
      make_communicator({.transport = cluster.transport(0)}, make_host_memory(), {});
  std::vector<float> data(1 << 20);
  const auto names = [&](const std::string& words, const Options& options = {}) {
    return rank.explain(call::all_reduce(data, std::span{data}, sum), options).find(words) !=
           std::string::npos;
  };
  EXPECT_TRUE(names("recursive_multiplying:k=4: "));
  EXPECT_TRUE(names("recursive_multiplying:k=2: "));
  EXPECT_TRUE(names("circulant:skips=3+2+1: "));
  EXPECT_TRUE(names("segmented_ring, segments of 262144 bytes: "));
  const Options alike{.determinism = Determinism::size_invariant};
  EXPECT_TRUE(names("recursive_multiplying:k=4: ", alike));
  EXPECT_FALSE(names("recursive_multiplying:k=2: ", alike));
}

TEST(OptionsTest, ACommunicatorMaySayWhatItsCollectivesRun) {
  sim::Cluster cluster{{.size = 4}};
  const auto make = [&](std::map<Collective, std::string> algorithms) {
    return make_communicator({.transport = cluster.transport(0)}, make_host_memory(),
                             {.algorithms = std::move(algorithms)});
  };
  Communicator rank =
      make({{Collective::all_reduce, "ring"}, {Collective::barrier, "dissemination:k=4"}});
  std::vector<float> data(8);
  const auto runs = [&](const Call& call, const Options& options = {}) {
    const std::string text = rank.explain(call, options);
    return text.substr(text.find("ranks: ") + 7, text.find(" (") - text.find("ranks: ") - 7);
  };
  const Call all_reduce = call::all_reduce(data, std::span{data}, sum);
  EXPECT_EQ(runs(all_reduce), "ring");
  EXPECT_EQ(runs(call::barrier()), "dissemination:k=4");
  EXPECT_EQ(runs(all_reduce, {.algorithm = "rabenseifner"}), "rabenseifner") << "a call says more";
  EXPECT_THROW(static_cast<void>(make({{Collective::reduce, "ring"}})), Error) << "no such row";
  EXPECT_THROW(
      static_cast<void>(rank.explain(all_reduce, {.determinism = Determinism::layout_invariant})),
      Error)
      << "it cannot serve";
}

// A Buffer as argument needs no option to be visible to peers. Arguments that a rank need not pass,
// such as the result of a reduce on ranks other than the root, do not count.
TEST(OptionsTest, BuffersSayThemselvesThatPeersSeeThem) {
  sim::Cluster cluster{{.size = 4}};
  const CostModel memory{kDefaultCosts, "of memory", detail::kVisibleCosts};
  Communicator rank = make_communicator({.transport = cluster.transport(0), .cost_model = memory},
                                        make_host_memory(), {});
  Buffer<float> seen = rank.allocate<float>(4096);
  std::vector<float> hidden(4096);
  const auto is_charged_as_seen = [&](const Call& call) {
    return rank.explain(call).find("\n  at 0.5 us per message") != std::string::npos;
  };
  EXPECT_TRUE(is_charged_as_seen(call::all_reduce(seen, seen, sum)));
  EXPECT_TRUE(is_charged_as_seen(call::broadcast(seen, 1)));
  EXPECT_TRUE(is_charged_as_seen(call::reduce(seen, std::span<float>{}, sum, 1)));
  EXPECT_TRUE(is_charged_as_seen(call::scatter({}, seen, 1)));
  EXPECT_FALSE(is_charged_as_seen(call::all_reduce(hidden, hidden, sum)));
  EXPECT_FALSE(is_charged_as_seen(call::all_reduce(seen.span(), seen.span(), sum)));
  EXPECT_FALSE(is_charged_as_seen(call::reduce(hidden, seen, sum, 0)));
  EXPECT_FALSE(is_charged_as_seen(call::scatter(seen, hidden, 1)));
}

// Calls accept every kind of array.
TEST(OptionsTest, CallsTakeArraysOfManyKinds) {
  World world{1};
  std::vector<int> vector{3, 4};
  std::array<int, 2> array{};
  int plain[2] = {};
  world[0].all_reduce(vector);
  world[0].all_reduce(vector, array);
  world[0].all_reduce(array, std::span{plain}, max);
  world[0].all_reduce({vector.data(), 1}, std::span{vector}.last(1));
  EXPECT_EQ(plain[1], 4);
  EXPECT_EQ(vector[1], 3);
}

}  // namespace
}  // namespace tutti::harness
