// Costs of choices on networks by their profiles, against closed forms and against the simulator.
#include "selector/network_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/contract.hpp>

#include "selector/simulate.hpp"
#include "topology/families.hpp"
#include "topology/placed.hpp"

namespace tutti::v0 {
namespace {

RankNetwork network_named(const std::string& text) {
  return {.topology = parse_topology(text)};
}

// The default costs of a message, a link and a byte.
constexpr Femtoseconds kMessageTime = 1'000'000'000, kLinkTime = 1'000'000'000, kByteTime = 80'000;

TEST(NetworkProfile, OfARingOnASwitchIsItsClosedForm) {
  const Choice ring = parse_choice(Collective::all_reduce, "ring");
  for (const int n : {2, 5, 16}) {
    const NetworkProfile profile =
        profile_on(ring, n, 0, network_named("switch:" + std::to_string(n)));
    const std::int64_t rounds = 2 * (n - 1);
    const auto bytes = static_cast<std::size_t>(n) * 1000;
    const NetworkTerms terms = profile.time(bytes, 0);
    EXPECT_EQ(terms.messages, rounds * kMessageTime);
    EXPECT_EQ(terms.latency, rounds * 2 * kLinkTime);
    EXPECT_EQ(terms.bytes, rounds * 1000 * kByteTime);
    EXPECT_EQ(terms.reductions, (n - 1) * 1000 * EndpointCosts{}.reduced);
    EXPECT_EQ(terms.total(), terms.messages + terms.latency + terms.bytes + terms.reductions);
  }
}

// On Slim Fly q = 5 the multitree moves 2 * 49 / 50 of the vector through each rank's link in four
// rounds: two each way.
TEST(NetworkProfile, OfTheMultitreeOnASlimFlyHasFourRounds) {
  const Choice tree = parse_choice(Collective::all_reduce, "multitree:graph=slim_fly:q=5");
  EXPECT_EQ(tree.build(50, 0, 7).rounds(), 4U);
  const NetworkTerms terms = profile_on(tree, 50, 0, network_named("slim_fly:5")).time(50'000, 0);
  EXPECT_EQ(terms.bytes, std::int64_t{2 * 49'000} * kByteTime);
  EXPECT_EQ(terms.latency, 4 * 3 * kLinkTime);
}

/// A switch whose links a message occupies for a while.
Topology occupied_switch(int hosts, Femtoseconds per_message) {
  return single_switch(hosts, {.per_message = per_message});
}

TEST(NetworkProfile, MessagesOccupyTheLinksThatTheyShare) {
  constexpr Femtoseconds kOccupied = 3'000'000'000;
  const std::vector<int> host_of{0, 0, 1, 1};
  const LinkSpeed memory{.latency = 0, .per_byte = 1};
  const RankNetwork network{.topology =
                                place_ranks(occupied_switch(2, kOccupied), host_of, memory)};
  const auto messages_of = [&](const char* choice) {
    return profile_on(parse_choice(Collective::all_reduce, choice), 4, 0, network)
        .time(4, 0)
        .messages;
  };
  // Both ranks of a host send to the other host in the second round, and nowhere else.
  EXPECT_EQ(messages_of("recursive_doubling"), 2 * kMessageTime + 2 * kOccupied);
  // One message each way per round, and two ranks of a host that send to it in turn.
  EXPECT_EQ(messages_of("ring"), 6 * kMessageTime + 6 * kOccupied);
}

TEST(NetworkProfile, LinksThatManyShareAreSlower) {
  // A round of pairs across the taper: four flows through one link, or through four.
  const Choice doubling = parse_choice(Collective::all_reduce, "recursive_doubling");
  const auto bytes_on = [&](const char* network) {
    return profile_on(doubling, 8, 0, network_named(network)).time(1000, 0).bytes / kByteTime;
  };
  EXPECT_EQ(bytes_on("fat_tree:4x2:up=1x4"), 3000);
  EXPECT_EQ(bytes_on("fat_tree:4x2:up=1x2"), 4000);
  EXPECT_EQ(bytes_on("fat_tree:4x2:up=1x1"), 6000);
}

// On a torus of hosts the rings in all four directions have links of their own.
TEST(NetworkProfile, LinksOfAHostThatIsARouterWorkAtOnce) {
  const auto bytes_on = [](const char* choice, const char* network) {
    return profile_on(parse_choice(Collective::all_reduce, choice), 16, 0, network_named(network))
               .time(64'000, 0)
               .bytes /
           kByteTime;
  };
  const char* const rings = "multi_ring:graph=torus:4x4";
  EXPECT_EQ(bytes_on(rings, "torus:4x4"), 30 * 4000);
  EXPECT_EQ(bytes_on(rings, "torus:4x4:direct"), 30 * 1000);
  EXPECT_EQ(bytes_on("ring", "torus:4x4:direct"), 30 * 4000);
}

TEST(NetworkProfile, SegmentsFollowTheFirstAsFastAsTheBusiestLink) {
  const Choice chain = parse_choice(Collective::broadcast, "chain");
  const NetworkProfile profile = profile_on(chain, 8, 0, network_named("switch:8"));
  EXPECT_EQ(profile.time(6'400'000, 0).bytes, std::int64_t{7} * 6'400'000 * kByteTime);
  EXPECT_EQ(profile.time(6'400'000, 100'000).bytes, std::int64_t{7 + 63} * 100'000 * kByteTime);
  EXPECT_EQ(profile.time(6'400'000, 100'000).latency, 7 * 2 * kLinkTime);
}

// One rank's schedule stands for all where it is the others', shifted.
TEST(NetworkProfile, OfOneForAllIsThatOfAll) {
  for (const Algorithm& row : catalog()) {
    if (!row.traits.rotational || !admits(row.traits.sizes, 8)) continue;
    Algorithm all_built = row;
    all_built.traits.rotational = false;
    const Choice one{.algorithm = &row, .number = row.default_number};
    const Choice all{.algorithm = &all_built, .number = row.default_number};
    const RankNetwork network = network_named("switch:8");
    const NetworkTerms quick = profile_on(one, 8, 0, network).time(1 << 20, 0);
    EXPECT_EQ(quick, profile_on(all, 8, 0, network).time(1 << 20, 0)) << one.text();
  }
}

// All choices share a network's profile; a choice does not change it for the next.
TEST(NetworkProfile, IsTheSameOnANetworkThatHasBeenAsked) {
  for (const char* const text : {"switch:16", "fat_tree:4x4:up=1x2", "torus:4x4:direct"}) {
    const RankNetwork asked = network_named(text);
    for (const Collective collective : {Collective::all_reduce, Collective::all_to_all})
      for (const Algorithm& row : catalog()) {
        if (row.collective != collective || !has_default(row.parameter) ||
            !admits(row.traits.sizes, 16))
          continue;
        const Choice choice{.algorithm = &row, .number = row.default_number};
        EXPECT_EQ(profile_on(choice, 16, 0, asked).time(1 << 20, 0),
                  profile_on(choice, 16, 0, network_named(text)).time(1 << 20, 0))
            << text << ", " << choice.text();
      }
    RankNetwork other = asked;
    other.topology = parse_topology("mesh:16");
    const Choice ring = parse_choice(Collective::all_reduce, "ring");
    EXPECT_EQ(profile_on(ring, 16, 0, other).time(1 << 20, 0),
              profile_on(ring, 16, 0, network_named("mesh:16")).time(1 << 20, 0));
  }
}

// The ring is its closed form however many ranks there are, and who sends to all others at a switch
// fills its own link.
TEST(NetworkProfile, OfManyRanksIsAClosedForm) {
  constexpr int n = 65'536;
  const RankNetwork network = network_named("switch:65536");
  const auto terms_of = [&](const char* choice) {
    return profile_on(parse_choice(Collective::all_reduce, choice), n, 0, network)
        .time(std::size_t{n} * 8, 0);
  };
  const NetworkTerms ring = terms_of("ring"), direct = terms_of("direct");
  EXPECT_EQ(ring.messages, std::int64_t{2} * (n - 1) * kMessageTime);
  EXPECT_EQ(ring.bytes, std::int64_t{2} * (n - 1) * 8 * kByteTime);
  EXPECT_EQ(direct.bytes, ring.bytes);
  EXPECT_EQ(direct.latency, 2 * 2 * kLinkTime);
}

TEST(NetworkProfile, SaysWhereItWouldTakeTooLong) {
  const auto refusal = [](Collective collective, const char* choice, const char* network, int n) {
    try {
      (void)profile_on(parse_choice(collective, choice), n, 0, network_named(network));
      return std::string{};
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return std::string{error.what()};
    }
  };
  const char* const far = "fat_tree:256x256:up=1x16";
  for (const std::string& words : {refusal(Collective::all_gather, "swing", far, 65'536),
                                   refusal(Collective::all_reduce, "direct", far, 65'536),
                                   refusal(Collective::all_to_all, "bruck", far, 65'536)})
    EXPECT_EQ(words.find("too long to profile on 65536 ranks: "), 0U) << words;
  EXPECT_EQ(refusal(Collective::all_reduce, "circulant", far, 65'536), "");
}

TEST(NetworkProfile, RefusesFewerPlacesThanRanks) {
  try {
    (void)profile_on(parse_choice(Collective::barrier, "dissemination"), 9, 0,
                     network_named("switch:8"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("places for 8 ranks, fewer than 9"), std::string::npos)
        << error.what();
  }
}

/// Predicted and simulated times of all rows of a collective without a parameter to be set.
struct Compared {
  std::vector<double> predicted{}, simulated{};
};

Compared compare(Collective collective, const RankNetwork& network, int size, std::size_t bytes) {
  Compared compared;
  const Contract contract{collective, size};
  const Partition partition{bytes, contract.blocks()};
  std::vector<std::size_t> blocks;
  for (std::size_t block = 0; block < contract.blocks(); ++block)
    blocks.push_back(partition.size(block));
  for (const Algorithm& row : catalog()) {
    if (row.collective != collective || !has_default(row.parameter) ||
        !admits(row.traits.sizes, size))
      continue;
    const Choice choice{.algorithm = &row, .number = row.default_number};
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, 0, rank));
    compared.simulated.push_back(
        simulate(schedules, blocks, 1, network.topology, network.routing).nanoseconds);
    const Femtoseconds predicted = profile_on(choice, size, 0, network).time(bytes, 0).total();
    compared.predicted.push_back(static_cast<double>(predicted) / 1e6);
  }
  return compared;
}

/// Each value's place in the order of all.
std::vector<double> places_of(const std::vector<double>& values) {
  std::vector<double> places;
  for (const double value : values)
    places.push_back(static_cast<double>(
        std::ranges::count_if(values, [value](double other) { return other < value; })));
  return places;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

// Most of the difference is in trees: messages of a rank in several rounds follow each other by the
// profile, and share the link by the simulator. The profile's best is nearly the simulator's best,
// almost everywhere.
TEST(NetworkProfile, ChoosesAsTheSimulatorWould) {
  using enum Collective;
  std::size_t cells = 0, close = 0;
  std::vector<double> errors, orders;
  for (const char* const text : {"switch:16", "torus:4x4", "fat_tree:4x4:up=1x2",
                                 "dragonfly:2x4x1:groups=2", "hypercube:4", "mesh:16"})
    for (const Collective collective :
         {all_reduce, all_gather, reduce_scatter, broadcast, reduce, scatter, gather, all_to_all})
      for (const std::size_t bytes :
           {std::size_t{1} << 10, std::size_t{64} << 10, std::size_t{4} << 20}) {
        const Compared both = compare(collective, network_named(text), 16, bytes);
        for (std::size_t i = 0; i < both.predicted.size(); ++i)
          errors.push_back(std::abs(both.predicted[i] / both.simulated[i] - 1));
        if (both.predicted.size() > 3)
          orders.push_back(correlation(places_of(both.predicted), places_of(both.simulated)));
        const auto winner = static_cast<std::size_t>(std::ranges::min_element(both.predicted) -
                                                     both.predicted.begin());
        const double regret = both.simulated[winner] / std::ranges::min(both.simulated);
        ++cells;
        close += regret < 1.1 ? 1 : 0;
      }
  std::ranges::sort(errors);
  std::ranges::sort(orders);
  EXPECT_GE(static_cast<double>(close), 0.8 * static_cast<double>(cells));
  EXPECT_LE(errors[errors.size() / 2], 0.05);
  EXPECT_GE(orders[orders.size() / 2], 0.95);
}

TEST(PlacedRanks, ShareTheLinkOfTheirHost) {
  const std::vector<int> hosts{0, 0, 1, 1};
  const Topology placed =
      place_ranks(parse_topology("switch:2"), hosts, {.latency = 100, .per_byte = 0});
  EXPECT_EQ(placed.hosts(), 4);
  const RankNetwork network{.topology = placed};
  // Each rank sends half of the vector to everyone in its place, through one link of two hosts.
  const NetworkTerms terms =
      profile_on(parse_choice(Collective::all_to_all, "direct"), 4, 0, network).time(16'000, 0);
  EXPECT_EQ(terms.bytes, 4 * 1000 * kByteTime);
}

TEST(PlacedRanks, AreRefusedWhereThereIsNoHost) {
  const std::vector<int> hosts{0, 2};
  EXPECT_THROW((void)place_ranks(parse_topology("switch:2"), hosts, {}), Error);
}

}  // namespace
}  // namespace tutti::v0
