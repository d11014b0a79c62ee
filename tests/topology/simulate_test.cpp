// Collectives on networks, against times that follow from their definitions.
#include "selector/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

#include "proof/verify_row.hpp"
#include "selector/flows.hpp"
#include "topology/families.hpp"

namespace tutti::v0 {
namespace {

// The default costs of a message, of a link's latency, of a byte, and of a reduced byte, in
// nanoseconds.
constexpr double kMessage = 1000, kLatency = 1000, kByte = 0.08, kReduced = 0.05;

std::vector<Schedule> build_all(Collective collective, const std::string& algorithm, int size) {
  const Choice choice = parse_choice(collective, algorithm);
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, 0, rank));
  return schedules;
}

Simulated run(const std::vector<Schedule>& schedules, std::size_t bytes, const char* network) {
  const std::vector<std::size_t> blocks{bytes};
  return simulate(schedules, blocks, 1, parse_topology(network));
}

/// Rank 0 sends to rank 1, 2 to 3, ..., each the whole vector.
std::vector<Schedule> pairs(int size, int distance) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) {
    const bool sends = rank / distance % 2 == 0;
    if (sends) schedules.push_back(Schedule{1}.round({Send{rank + distance, {}}}));
    else schedules.push_back(Schedule{1}.round({Recv{rank - distance, {}}}));
  }
  return schedules;
}

TEST(Simulate, AMessageTakesItsOverheadItsBytesAndTheLatencyOfItsLinks) {
  EXPECT_NEAR(run(pairs(2, 1), 1'000'000, "switch:2").nanoseconds,
              kMessage + 1e6 * kByte + 2 * kLatency, 1e-3);
  EXPECT_NEAR(run(pairs(2, 1), 0, "mesh:2").nanoseconds, kMessage + 3 * kLatency, 1e-3);
  EXPECT_EQ(run({Schedule{1}}, 8, "switch:1").nanoseconds, 0);
}

TEST(Simulate, SegmentsFollowEachOtherDownAChain) {
  constexpr int kRanks = 5;
  constexpr std::size_t kBytes = 4'000'000;
  const std::vector<Schedule> chain = build_all(Collective::broadcast, "chain", kRanks);
  const std::vector<std::size_t> blocks{kBytes};
  const auto time = [&](const Segments& segments) {
    const Simulated ran =
        simulate(chain, blocks, 1, parse_topology("switch:5"), Routing::fixed, {}, segments);
    EXPECT_EQ(ran.messages, (kRanks - 1) * segments.count);
    EXPECT_NEAR(ran.bytes, (kRanks - 1.) * kBytes, 1e-3);
    return ran.nanoseconds;
  };
  constexpr double kHop = kMessage + 2 * kLatency;  // beside the bytes
  for (const std::size_t count : {1U, 4U, 16U}) {
    // The first one goes all the way, and the others follow it; a rank hands over a message while
    // the one before is under way.
    const double piece = static_cast<double>(kBytes) * kByte / static_cast<double>(count);
    const double wanted = (kRanks - 1) * (kHop + piece) + (static_cast<double>(count) - 1) * piece;
    EXPECT_NEAR(time({.count = count}), wanted, 1e-2) << count;
  }
  EXPECT_GT(time({.count = 16, .in_flight = 1}), time({.count = 16}));
}

TEST(Simulate, SegmentsOfEveryRowEndWithAllThatWasToBeSent) {
  for (const Algorithm& row : catalog()) {
    if (!has_default(row.parameter) || !admits(row.traits.sizes, 8)) continue;
    const std::vector<Schedule> schedules = build_all(row.collective, std::string{row.name}, 8);
    const std::vector<std::size_t> blocks(Contract{row.collective, 8, 0}.blocks(), 38'400);
    const auto simulated = [&](std::size_t count) {
      return simulate(schedules, blocks, 1, single_switch(8), Routing::fixed, {}, {.count = count});
    };
    EXPECT_EQ(simulated(6).messages, 6 * simulated(1).messages) << row.name;
    EXPECT_NEAR(simulated(6).bytes, simulated(1).bytes, 1e-3) << row.name;
  }
}

TEST(Simulate, MessagesOccupyTheLinksThatTheyShare) {
  const LinkSpeed speed{.per_message = 3'000'000'000};
  const std::vector<std::size_t> blocks{1000};
  const auto time = [&](const std::vector<Schedule>& schedules) {
    return simulate(schedules, blocks, 1, single_switch(3, speed)).nanoseconds;
  };
  EXPECT_NEAR(time(pairs(2, 1)), kMessage + 3000 + 1000 * kByte + 2 * kLatency, 1e-2);
  const Slots first{Space::out, 0}, second{Space::out, 1};
  const std::vector<Schedule> two_to_one{Schedule{2}.round({Recv{1, first}, Recv{2, second}}),
                                         Schedule{2}.round({Send{0, first}}),
                                         Schedule{2}.round({Send{0, second}})};
  EXPECT_NEAR(time(two_to_one), kMessage + 2 * 3000 + 1000 * kByte + 2 * kLatency, 1e-2);
}

TEST(Simulate, MessagesShareLinks) {
  // Four hosts of one leaf send to the other one: by as many links up, by two and by one.
  for (const int up : {4, 2, 1}) {
    const std::string network = "fat_tree:4x2:up=1x" + std::to_string(up);
    EXPECT_NEAR(run(pairs(8, 4), 1'000'000, network.c_str()).nanoseconds,
                kMessage + 1e6 * kByte * 4 / up + 4 * kLatency, 1e-2)
        << network;
  }
}

TEST(Simulate, AReceiverReducesOneMessageAfterTheOther) {
  const std::vector<Schedule> schedules{Schedule{1}.round({RecvReduce{1, {}}, RecvReduce{2, {}}}),
                                        Schedule{1}.round({Send{0, {}}}),
                                        Schedule{1}.round({Send{0, {}}})};
  EXPECT_NEAR(run(schedules, 1'000'000, "switch:3").nanoseconds,
              kMessage + 2e6 * kByte + 2 * kLatency + 2e6 * kReduced, 1e-2);
}

TEST(Simulate, ARingIsThatOfTheBooks) {
  for (const int size : {2, 3, 4, 8, 13}) {
    const std::size_t bytes = 100'000 * static_cast<std::size_t>(size);
    const double block = 1e5, rounds = size - 1;
    const auto time = [&](const std::string& network) {
      return run(build_all(Collective::all_reduce, "ring", size), bytes, network.c_str())
          .nanoseconds;
    };
    const double own = 2 * rounds * (kMessage + block * kByte) + rounds * block * kReduced;
    EXPECT_NEAR(time("switch:" + std::to_string(size)), own + 2 * rounds * 2 * kLatency, 1e-2);
    EXPECT_NEAR(time("torus:" + std::to_string(size)), own + 2 * rounds * 3 * kLatency, 1e-2);
  }
}

TEST(Simulate, RoundsThatTouchOtherSlotsDoNotWait) {
  const Slots first{Space::out, 0}, second{Space::out, 1};
  for (const bool paced : {false, true}) {
    const std::vector<Schedule> schedules{
        Schedule{2, 0, paced}.round({Recv{1, first}}).round({Send{2, second}}),
        Schedule{2}.round({Send{0, first}}), Schedule{2}.round({Recv{0, second}})};
    EXPECT_NEAR(run(schedules, 2000, "switch:3").nanoseconds,
                (paced ? 2 : 1) * (kMessage + 1000 * kByte + 2 * kLatency), 1e-3);
  }
}

// Rank 1 passes on what comes first while the rest still comes, whether that is as long or shorter.
TEST(Simulate, MessagesToOnePeerWaitForOneAnother) {
  const Slots first{Space::out, 0}, second{Space::out, 1};
  for (const std::size_t rest : {1'000'000, 10}) {
    const std::vector<Schedule> schedules{
        Schedule{2}.round({Send{1, first}}).round({Send{1, second}}),
        Schedule{2}.round({Recv{0, first}}).round({Recv{0, second}}).round({Send{2, first}}),
        Schedule{2}.round({Recv{1, first}})};
    const std::vector<std::size_t> blocks{1'000'000, rest};
    EXPECT_NEAR(simulate(schedules, blocks, 1, parse_topology("switch:3")).nanoseconds,
                2 * (kMessage + 1e6 * kByte + 2 * kLatency), 1e-2)
        << rest;
  }
}

TEST(Simulate, EveryRowEndsOnEveryNetwork) {
  for (const Algorithm& row : catalog()) {
    const int size = 8;
    if (!admits(row.traits.sizes, size)) continue;
    const Choice choice = verified_choices(row, size, 1).front();
    std::vector<Schedule> schedules;
    std::size_t messages = 0;
    for (Rank rank = 0; rank < size; ++rank) {
      schedules.push_back(choice.build(size, 0, rank));
      for (std::size_t i = 0; i < schedules.back().rounds(); ++i) {
        std::vector<Rank> peers;
        for (const Step& step : schedules.back().round(i))
          if (step.kind() == Step::Kind::send) peers.push_back(step.peer());
        std::ranges::sort(peers);
        messages +=
            static_cast<std::size_t>(std::unique(peers.begin(), peers.end()) - peers.begin());
      }
    }
    const std::vector<std::size_t> blocks(Contract{row.collective, size, 0}.blocks(), 1000);
    for (const char* const text : {"switch:8", "torus:2x4", "fat_tree:2x2x2", "dragonfly:1x4x1"}) {
      const Simulated simulated = simulate(schedules, blocks, 1, parse_topology(text));
      EXPECT_EQ(simulated.messages, messages) << row.name << " on " << text;
      EXPECT_GT(simulated.nanoseconds, kMessage + 2 * kLatency) << row.name << " on " << text;
    }
  }
}

TEST(Simulate, WhatMakesNoSenseIsRefused) {
  const auto refused = [](const std::vector<Schedule>& schedules, const char* words) {
    try {
      (void)run(schedules, 8, "switch:2");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
  };
  refused(pairs(4, 1), "network switch:2 has 2 hosts, and there are 4 ranks");
  refused({Schedule{1}.round({Recv{1, {}}}), Schedule{1}},
          "rank 0, round 0: waits for rank 1, which never sends it");
  refused({Schedule{1}.round({Send{7, {}}}), Schedule{1}}, "sends to rank 7 of 2");
  refused({Schedule{1}, Schedule{2}}, "all must agree");
}

// Each flow has a channel of its own, by which its rate is seen, and crosses others at random. It
// is slowed down by a channel that is full, and on which no flow is quicker.
TEST(Flows, AreMaxMinFair) {
  std::mt19937 random{5};
  for (int round = 0; round < 50; ++round) {
    constexpr int kShared = 6, kFlows = 12;
    std::vector<double> capacities;
    for (int i = 0; i < kShared; ++i) capacities.push_back(1 + static_cast<double>(random() % 5));
    capacities.resize(kShared + kFlows, 100);
    Flows flows{capacities};
    std::vector<std::vector<int>> paths;
    for (int flow = 0; flow < kFlows; ++flow) {
      std::vector<int> path{kShared + flow};
      for (int channel = 0; channel < kShared; ++channel)
        if (random() % 3 == 0) path.push_back(channel);
      flows.start(path, 1e9, static_cast<std::size_t>(flow));
      paths.push_back(path);
    }
    std::vector<std::size_t> ended;
    flows.pass(1, ended);
    const auto rate = [&](int flow) {
      return flows.carried()[static_cast<std::size_t>(kShared + flow)];
    };
    for (int flow = 0; flow < kFlows; ++flow) {
      const bool is_bounded =
          std::ranges::any_of(paths[static_cast<std::size_t>(flow)], [&](int c) {
            double quickest = 0;
            for (int other = 0; other < kFlows; ++other)
              if (std::ranges::count(paths[static_cast<std::size_t>(other)], c) > 0)
                quickest = std::max(quickest, rate(other));
            const auto channel = static_cast<std::size_t>(c);
            return flows.carried()[channel] > capacities[channel] * (1 - 1e-6) &&
                   rate(flow) > quickest * (1 - 1e-6);
          });
      EXPECT_TRUE(is_bounded) << "flow " << flow << " of round " << round;
    }
    for (int channel = 0; channel < kShared; ++channel) {
      const auto index = static_cast<std::size_t>(channel);
      EXPECT_LE(flows.carried()[index], capacities[index] * (1 + 1e-6));
    }
  }
}

TEST(Flows, EndInTheirOrder) {
  Flows flows{{10}};
  const std::vector<int> path{0};
  flows.start(path, 100, 7);
  flows.start(path, 50, 8);
  flows.start({}, 1000, 9);
  std::vector<std::size_t> ended;
  EXPECT_EQ(flows.until_next(), 0) << "which takes no channel";
  flows.pass(0, ended);
  EXPECT_EQ(ended, std::vector<std::size_t>{9});
  EXPECT_NEAR(flows.until_next(), 10, 1e-6) << "5 each";
  flows.pass(flows.until_next(), ended);
  EXPECT_EQ(ended.back(), 8U);
  EXPECT_NEAR(flows.until_next(), 5, 1e-6) << "and 10 for the one that is left";
  flows.pass(flows.until_next(), ended);
  EXPECT_EQ(ended.back(), 7U);
  EXPECT_EQ(flows.size(), 0U);
}

}  // namespace
}  // namespace tutti::v0
