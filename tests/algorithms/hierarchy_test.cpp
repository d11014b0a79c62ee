// Algorithms made of others: what they are written as, what they come to, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>

#include "proof/verify.hpp"
#include "refusal.hpp"

namespace tutti::v0 {
namespace {

using enum Collective;

std::vector<Schedule> build_all(const Choice& choice, int size, Rank root = 0) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return schedules;
}

Facts proved(Collective collective, const char* text, int size, Rank root = 0) {
  const auto schedules = build_all(parse_choice(collective, text), size, root);
  const Verdict verdict = verify_schedules({collective, size, root}, schedules);
  for (const Finding& finding : verdict.findings) ADD_FAILURE() << text << ": " << finding.message;
  return verdict.facts;
}

/// Vectors that go from one group to another one.
double between_groups(const char* text, int size, Collective collective = all_reduce) {
  const Choice choice = parse_choice(collective, text);
  const auto groups = groups_of(*choice.hierarchy, size);
  const auto group_of = [&](Rank rank) {
    return std::ranges::find_if(groups, [rank](const std::vector<Rank>& group) {
      return std::ranges::binary_search(group, rank);
    });
  };
  double units = 0;
  const auto schedules = build_all(choice, size);
  for (Rank rank = 0; rank < size; ++rank)
    for (const Step& step : schedules[static_cast<std::size_t>(rank)].steps())
      if (step.kind() == Step::Kind::send && group_of(step.peer()) != group_of(rank))
        units += step.slots().count;
  return units / schedules.front().units();
}

TEST(Hierarchy, TextReadsBack) {
  for (const char* const text :
       {"hierarchical(circulant, ring):groups=4",
        "hierarchical(circulant:skips=2+1, ring):groups=4",
        "hierarchical(binomial, knomial:k=4):groups=5+3:lanes=1",
        "hierarchical(ring, hierarchical(circulant, direct):groups=2):ranks=0+1+0+1",
        "hierarchical(circulant, ring)", "hierarchical(circulant, ring):lanes=2",
        "hierarchical(multitree:graph=torus:2x2, multitree:graph=ring:4):groups=4"}) {
    const Collective collective =
        std::string_view{text}.find("knomial") == std::string_view::npos ? all_reduce : broadcast;
    EXPECT_EQ(parse_choice(collective, text).text(), text);
  }
  const Choice choice =
      parse_choice(all_reduce, "hierarchical( circulant ,ring ) :lanes=2:groups=4");
  EXPECT_EQ(choice.text(), "hierarchical(circulant, ring):groups=4:lanes=2");
  EXPECT_EQ(choice.name(), "hierarchical(circulant, ring)");
  EXPECT_EQ(choice.parameters(), "groups=4:lanes=2");
  EXPECT_EQ(parse_choice(all_reduce, "ring").name(), "ring");
}

TEST(Hierarchy, GroupsAreWhatTheTextSays) {
  using Groups = std::vector<std::vector<Rank>>;
  const auto groups = [](const char* parameter, int size) {
    const std::string text = std::string{"hierarchical(circulant, ring):"} + parameter;
    return groups_of(*parse_choice(all_reduce, text).hierarchy, size);
  };
  EXPECT_EQ(groups("groups=2", 5), (Groups{{0, 1, 2}, {3, 4}}));
  EXPECT_EQ(groups("groups=1", 3), (Groups{{0, 1, 2}}));
  EXPECT_EQ(groups("groups=1+3", 4), (Groups{{0}, {1, 2, 3}}));
  EXPECT_EQ(groups("ranks=0+1+1+0", 4), (Groups{{0, 3}, {1, 2}}));
}

TEST(Hierarchy, SendsTwiceTheVectorOverEachCutBetweenGroups) {
  for (const char* const text :
       {"hierarchical(circulant, ring):groups=4", "hierarchical(circulant, circulant):groups=4",
        "hierarchical(ring, direct):groups=4:lanes=1", "hierarchical(binomial, ring):groups=4",
        "hierarchical(circulant, ring):groups=5+5+3+3"})
    EXPECT_DOUBLE_EQ(between_groups(text, 16), 2 * 3) << text;
}

TEST(Hierarchy, HostsAreTheGroupsOfOneThatSaysNone) {
  const auto on = [](const char* text, std::vector<int> hosts) {
    return on_hosts(parse_choice(all_reduce, text), hosts).text();
  };
  const char* const plain = "hierarchical(circulant, ring)";
  EXPECT_EQ(on(plain, {0, 0, 0, 0}), "hierarchical(circulant, ring):groups=1");
  EXPECT_EQ(on(plain, {4, 4, 4, 9, 9}), "hierarchical(circulant, ring):groups=3+2");
  EXPECT_EQ(on(plain, {5, 3, 5, 3}), "hierarchical(circulant, ring):ranks=0+1+0+1");
  EXPECT_EQ(on("hierarchical(ring, ring):lanes=1", {7, 7, 8, 8}),
            "hierarchical(ring, ring):groups=2+2:lanes=1");
  EXPECT_EQ(on(plain, {}), plain) << "nobody knows the hosts";
  EXPECT_EQ(on("hierarchical(circulant, ring):groups=2", {0, 1, 0, 1}),
            "hierarchical(circulant, ring):groups=2");
  EXPECT_EQ(on("ring", {0, 1}), "ring");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, hierarchical(ring, ring)):groups=2", 8),
            "hierarchical(ring, ring) cannot serve 2 of the ranks: it has no groups, and the hosts "
            "of its ranks are unknown: append for example :groups=4");
}

TEST(Hierarchy, SendsEveryBlockOnceToEachOtherGroup) {
  for (const Collective collective : {all_gather, reduce_scatter})
    for (const char* const text :
         {"hierarchical(circulant, ring):groups=4",
          "hierarchical(ring, circulant):groups=4:lanes=1",
          "hierarchical(circulant, ring):groups=5+5+3+3",
          "hierarchical(circulant, ring):ranks=0+1+2+3+3+1+0+2+1+1+2+2+0+1+3+1"})
      EXPECT_DOUBLE_EQ(between_groups(text, 16, collective), 3) << text;
}

TEST(Hierarchy, SendsEveryBlockOnceToTheGroupThatItIsFor) {
  for (const Collective collective : {scatter, gather, all_to_all})
    for (const char* const text : {"hierarchical(direct, direct):groups=4",
                                   "hierarchical(linear:k=1, linear:k=2):groups=4:lanes=1",
                                   "hierarchical(direct, direct):ranks="
                                   "0+1+2+3+3+1+0+2+1+0+3+2+0+1+3+2"}) {
      EXPECT_DOUBLE_EQ(between_groups(text, 16, collective), 12 / 16.0) << text;
      proved(collective, text, 16);
    }
}

TEST(Hierarchy, OfAnAllToAllTalksToItsGroupAndItsLaneOnly) {
  const Choice choice = parse_choice(all_to_all, "hierarchical(direct, direct):groups=4");
  const Schedule schedule = choice.build(16, 0, 5);
  std::set<Rank> peers;
  for (const Step& step : schedule.steps()) peers.insert(step.peer());
  EXPECT_EQ(peers, (std::set<Rank>{4, 6, 7, 1, 9, 13}));
}

TEST(Hierarchy, BroadcastsOnLanesWhereItGathersWithin) {
  const auto stage = [](const char* text) {
    return parse_choice(broadcast, text).hierarchy->stages.front().algorithm->collective;
  };
  EXPECT_EQ(stage("hierarchical(binomial, chain):groups=4"), broadcast);
  EXPECT_EQ(stage("hierarchical(ring, chain):groups=4"), all_gather);
  EXPECT_EQ(stage("hierarchical(circulant, chain):groups=4"), broadcast);
  EXPECT_EQ(stage("hierarchical(circulant, chain):groups=4:lanes=2"), all_gather);
  const char* const text = "hierarchical(circulant, chain):groups=4:lanes=3";
  EXPECT_EQ(parse_choice(broadcast, text).text(), text);
  EXPECT_DOUBLE_EQ(between_groups(text, 16, broadcast), 3);
  EXPECT_DOUBLE_EQ(between_groups("hierarchical(ring, binomial):groups=5+5+3+3", 16, broadcast), 3);
  std::set<Rank> senders;
  const Choice choice = parse_choice(broadcast, text);
  for (Rank rank = 0; rank < 16; ++rank) {
    const Schedule schedule = choice.build(16, 2, rank);
    for (const Step& step : schedule.steps())
      if (step.kind() == Step::Kind::send && step.peer() / 4 != rank / 4) senders.insert(rank % 4);
  }
  EXPECT_EQ(senders, (std::set<Rank>{0, 1, 2})) << "as many as there are lanes";
  // The root's: a scatter, its message on the lane, and an all_gather.
  EXPECT_EQ(proved(broadcast, "hierarchical(ring, chain):groups=4", 16).rounds, 2U + 1 + 3);
}

TEST(Hierarchy, OfBlocksGivesNoRankABlockTwice) {
  for (const char* const text :
       {"hierarchical(circulant, ring):groups=4", "hierarchical(circulant, ring):groups=3:lanes=1",
        "hierarchical(ring, pat:a=1):groups=7+4+1"}) {
    const std::vector<Schedule> schedules = build_all(parse_choice(all_gather, text), 12);
    for (const Schedule& schedule : schedules) {
      std::vector<int> got(schedule.units());
      for (const Step& step : schedule.steps())
        for (std::uint32_t i = 0; step.kind() == Step::Kind::recv && i < step.slots().count; ++i)
          EXPECT_EQ(got[step.slots().first + i]++, 0) << text;
    }
  }
}

TEST(Hierarchy, OfBlocksHasTheRoundsOfItsStages) {
  EXPECT_EQ(proved(all_gather, "hierarchical(circulant, circulant):groups=4", 32).rounds, 3U + 2);
  EXPECT_EQ(proved(reduce_scatter, "hierarchical(circulant, ring):groups=4", 32).rounds, 3U + 3);
  EXPECT_EQ(proved(barrier, "hierarchical(dissemination, dissemination):groups=4", 32).rounds,
            3U + 2);
  EXPECT_EQ(proved(all_gather, "hierarchical(circulant, circulant):groups=17+15", 32).rounds,
            1U + 1 + 5);
  EXPECT_EQ(proved(barrier, "hierarchical(dissemination, dissemination):groups=17+15", 32).rounds,
            5U + 1 + 1);
}

TEST(Hierarchy, UsesAsManyLanesAsTheSmallestGroupHasRanks) {
  const auto senders = [](const char* text) {
    const Choice choice = parse_choice(all_reduce, text);
    std::set<Rank> found;
    const auto all = groups_of(*choice.hierarchy, 12);
    for (Rank rank = 0; rank < 12; ++rank) {
      const Schedule schedule = choice.build(12, 0, rank);
      for (const Step& step : schedule.steps())
        if (step.kind() == Step::Kind::send &&
            std::ranges::none_of(all, [&](const std::vector<Rank>& group) {
              return std::ranges::binary_search(group, rank) &&
                     std::ranges::binary_search(group, step.peer());
            }))
          found.insert(rank);
    }
    return found.size();
  };
  EXPECT_EQ(senders("hierarchical(circulant, ring):groups=3"), 12u);
  EXPECT_EQ(senders("hierarchical(circulant, ring):groups=5+4+3"), 9u);
  EXPECT_EQ(senders("hierarchical(circulant, ring):groups=3:lanes=2"), 6u);
  EXPECT_EQ(senders("hierarchical(circulant, ring):groups=3:lanes=1"), 3u);
  EXPECT_EQ(senders("hierarchical(binomial, ring):groups=3"), 3u);
}

TEST(Hierarchy, HasTheRoundsAndBytesOfItsStages) {
  const Facts facts = proved(all_reduce, "hierarchical(circulant, ring):groups=4", 32);
  EXPECT_EQ(facts.rounds, 3u + 2 * 3 + 3);
  EXPECT_DOUBLE_EQ(facts.vectors_sent(), 2 * 7 / 8.0 + 2 * 3 / 4.0 / 8);
}

TEST(Hierarchy, IsProvedForNestedOnesAndNetworks) {
  proved(all_reduce, "hierarchical(circulant, hierarchical(ring, direct):groups=2):groups=4", 12);
  proved(all_reduce, "hierarchical(hierarchical(binomial, chain):groups=2, ring):groups=3", 12);
  proved(all_reduce, "hierarchical(multitree:graph=torus:2x2, multitree:graph=ring:4):groups=4",
         16);
  proved(all_reduce, "hierarchical(circulant, slim_fly):groups=18", 36);
  proved(all_reduce, "hierarchical(circulant, ring):groups=3:lanes=2", 11);
  proved(all_to_all, "hierarchical(hierarchical(bruck, direct):groups=1, bruck:k=3):groups=7+1+4",
         12);
  for (const Collective collective : {all_gather, reduce_scatter}) {
    proved(collective, "hierarchical(hierarchical(ring, circulant):groups=2, ring):groups=3", 12);
    proved(collective,
           "hierarchical(circulant, hierarchical(ring, circulant):groups=1+2)"
           ":ranks=0+1+2+2+2+0+1",
           7);
    proved(collective, "hierarchical(multitree:graph=torus:2x2, bucket:graph=ring:4):groups=4", 16);
  }
  for (Rank root = 0; root < 11; ++root) {
    proved(broadcast, "hierarchical(scatter_all_gather, chain):groups=5+2+4", 11, root);
    proved(broadcast, "hierarchical(bruck, circulant:b=3):groups=5+2+4", 11, root);
    proved(broadcast,
           "hierarchical(hierarchical(ring, circulant):groups=2, chain):groups=3:lanes=2", 11,
           root);
    for (const Collective collective : {scatter, gather})
      proved(collective,
             "hierarchical(hierarchical(direct, linear:k=1):groups=2, binomial)"
             ":ranks=0+1+0+2+1+0+0+2+2+1+0",
             11, root);
    proved(reduce,
           "hierarchical(reduce_scatter_gather, in_order_binary):ranks=0+1+0+2+1+0+0+2+2+1+0", 11,
           root);
    proved(broadcast, "hierarchical(hierarchical(binomial, chain):groups=2, binomial):groups=3", 11,
           root);
  }
}

TEST(Hierarchy, WhatDoesNotFitIsRefusedInOneSentence) {
  EXPECT_EQ(refusal(all_reduce, "hierarchical", 8),
            "it needs two algorithms and groups, and they are missing: write for example "
            "hierarchical(circulant, ring):groups=4");
  EXPECT_EQ(refusal(all_reduce, "hierarchical:groups=4", 8),
            "'hierarchical:groups=4' must name two algorithms: write for example "
            "hierarchical(circulant, ring):groups=4");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring)", 8),
            "it has no groups, and the hosts of its ranks are unknown: append for example "
            ":groups=4");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):groups=2:ranks=0+1", 8),
            "'hierarchical(circulant, ring):groups=2:ranks=0+1' must have its groups once: as "
            "groups=4, groups=5+3 or ranks=0+1+0+1");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):groups=9", 8),
            "it would have 9 groups, and there are 8 ranks");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):groups=5+4", 8),
            "its groups have 9 ranks together, and there are 8 ranks");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):ranks=0+1+0", 8),
            "it has the groups of 3 ranks, and there are 8 ranks");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):ranks=0+2+0", 3),
            "its group 1 has no rank");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):ranks=0+2147483647", 2),
            "its groups are numbered up to 2147483647, and there are 2 ranks");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):groups=2", 1),
            "it would have 2 groups, and there is 1 rank");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):groups=3:lanes=3", 8),
            "it would have 3 lanes, and the smallest group has 2 ranks");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(binomial, ring):groups=2:lanes=2", 8),
            "it would have 2 lanes, and binomial works for one");
  EXPECT_EQ(refusal(broadcast, "hierarchical(binomial, chain):groups=2:lanes=2", 8),
            "it would have 2 lanes, and binomial works for one");
  EXPECT_EQ(refusal(gather, "hierarchical(direct, direct):groups=2:lanes=2", 8),
            "it would have 2 lanes, and direct works for one");
  EXPECT_EQ(refusal(all_to_all, "hierarchical(direct, direct):groups=3:lanes=3", 8),
            "it would have 3 lanes, and the smallest group has 2 ranks");
  EXPECT_EQ(
      refusal(all_reduce, "hierarchical(circulant, slim_fly):groups=4", 8),
      "slim_fly cannot serve 4 of the ranks: it supports 2 q^2 ranks for prime powers q from 3 "
      "on only, and there are 4 ranks");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(multitree:graph=ring:4, ring):groups=5+4", 9),
            "multitree:graph=ring:4 cannot serve 5 of the ranks: it needs one rank on each router: "
            "the graph has 4 routers with 4 ranks, and there are 5 ranks");
  EXPECT_EQ(
      refusal(all_reduce, "hierarchical(one_shot, ring):groups=4", 8)
          .find("'one_shot' cannot work within groups: choose from those that reduce_scatter and "
                "all_gather have ("),
      0u);
  EXPECT_EQ(
      refusal(all_reduce, "hierarchical(circulant, rnig):groups=4", 8).find("unknown algorithm"),
      0u);
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring:groups=4", 8),
            "a ')' is missing in 'hierarchical(circulant, ring:groups=4'");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring)groups=4", 8),
            "'groups=4' is superfluous in 'hierarchical(circulant, ring)groups=4'");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):group=4", 8),
            "unknown parameter 'group=4' in 'hierarchical(circulant, ring):group=4': expected "
            "groups=4, groups=5+3, ranks=0+1+0+1 or lanes=1");
  EXPECT_EQ(refusal(all_reduce, "hierarchical(circulant, ring):groups=", 8),
            "'' in 'hierarchical(circulant, ring):groups=' is not a positive number");
  EXPECT_EQ(refusal(all_reduce, "ring(circulant, ring)", 8),
            "algorithm 'ring' is not made of others, but 'ring(circulant, ring)' names some");
  std::string deep = "ring";
  for (int level = 0; level < 20; ++level) deep = "hierarchical(ring, " + deep + "):groups=1";
  EXPECT_NE(refusal(all_reduce, deep.c_str(), 8).find("has more than 8 nested algorithms"),
            std::string::npos);
}

// Choices come from users, files and other machines.
TEST(Hierarchy, AnyTextIsReadOrRefused) {
  const std::vector<std::string> seeds{
      "hierarchical(circulant:skips=2+1, hierarchical(ring, direct):groups=2):groups=3+5:lanes=1",
      "hierarchical(binomial, multitree:graph=torus:4x4x2):ranks=0+1+0+1",
      "multitree:graph=edges:0-1+1-2+2-0:ranks=2+0+1", "bucket:graph=ring:8:per_router=2",
      "multi_ring:graph=slim_fly:q=5"};
  const std::string letters = "0123456789:=+-x(), agr";
  std::mt19937 random{11};
  std::size_t read = 0;
  std::size_t refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = seeds[random() % seeds.size()];
    for (std::size_t change = random() % 5; change < 4; ++change) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      if (random() % 3 == 0) text.erase(at, 1 + random() % 3);
      else if (random() % 2 == 0) text[at] = letter;
      else text.insert(at, 1, letter);
      if (text.empty()) text = "(";
    }
    try {
      const Choice choice = parse_choice(all_reduce, text);
      EXPECT_EQ(parse_choice(all_reduce, choice.text()).text(), choice.text()) << text;
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << text;
      ++refused;
    }
  }
  EXPECT_GT(read, 300u);
  EXPECT_GT(refused, 300u);
}

TEST(Pieces, KeepTheirPlaceInScratchToo) {
  const Schedule whole =
      Schedule{2, 2}
          .round({Send{1, {Space::in, 0, 2}}, Recv{1, {Space::scratch, 3}}})
          .round({Reduce{{Space::scratch, 3}, {Space::out, 1}}, Finish{{Space::out, 0}}});
  EXPECT_EQ(on_piece(whole, 1, 3),
            (Schedule{6, 2}
                 .round({Send{1, {Space::in, 2, 2}}, Recv{1, {Space::scratch, 9}}})
                 .round({Reduce{{Space::scratch, 9}, {Space::out, 3}}, Finish{{Space::out, 2}}})));
  EXPECT_EQ(first_blocks(whole, 1, 2),
            (Schedule{1, 2}.round({Send{1, {Space::in, 0, 1}}}).round({Finish{{Space::out, 0}}})));
  EXPECT_EQ(unfinished(whole),
            (Schedule{2, 2}
                 .round({Send{1, {Space::in, 0, 2}}, Recv{1, {Space::scratch, 3}}})
                 .round({Reduce{{Space::scratch, 3}, {Space::out, 1}}})));
  EXPECT_EQ(continued(whole),
            (Schedule{2, 2}
                 .round({Send{1, {Space::out, 0, 2}}, Recv{1, {Space::scratch, 3}}})
                 .round({Reduce{{Space::scratch, 3}, {Space::out, 1}}, Finish{{Space::out, 0}}})));
  const std::vector<Schedule> parts{
      Schedule{2}.round({Send{1, {Space::in, 0}}}),
      Schedule{2, 1}.round({Send{2, {Space::in, 1}}}).round({Finish{{Space::out, 1}}})};
  EXPECT_EQ(side_by_side(parts), (Schedule{2, 1}
                                      .round({Send{1, {Space::in, 0}}, Send{2, {Space::in, 1}}})
                                      .round({Finish{{Space::out, 1}}})));
}

TEST(Schedules, BlocksThatStandForOthersMayFollowWhatIsCutFiner) {
  const std::vector<std::uint32_t> last{2, 0};
  const Blocks blocks{2, 3, [&](std::uint32_t block) { return std::span{last}.subspan(block, 1); }};
  const auto first = Schedule{6}.round({Send{1, {Space::in, 5}}});
  const auto second = Schedule{2, 1}.round({Recv{1, {Space::scratch, 0, 2}}});
  EXPECT_EQ(then(first, second, blocks), then(first, on_blocks(second, blocks)));
  EXPECT_EQ(then(first, second, blocks),
            (Schedule{6, 1}
                 .round({Send{1, {Space::in, 5}}})
                 .round({Recv{1, {Space::scratch, 4, 2}}, Recv{1, {Space::scratch, 0, 2}}})));
}

}  // namespace
}  // namespace tutti::v0
