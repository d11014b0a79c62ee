// The predictor against a second implementation of its definition, and its behaviour at the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/contract.hpp>
#include <tutti/spi/costs.hpp>

#include "proof/verify_row.hpp"
#include "selector/predict.hpp"

namespace tutti::v0 {
namespace {

constexpr LinkCosts kCosts{.alpha = 1009, .beta = 11, .gamma = 7};

std::vector<Schedule> build_all(const Choice& choice, int size, Rank root) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < size; ++rank) schedules.push_back(choice.build(size, root, rank));
  return schedules;
}

/// The definition, solved by relaxation: times only grow until nothing changes any more.
class Relaxation {
 public:
  Relaxation(const std::vector<Schedule>& schedules, const std::vector<std::int64_t>& unit_bytes)
      : schedules_{schedules}, unit_bytes_{unit_bytes}, sent_(schedules.size()),
        end_(schedules.size()) {
    for (std::size_t r = 0; r < schedules.size(); ++r) {
      sent_[r].assign(schedules[r].rounds(), 0);
      end_[r].assign(schedules[r].rounds(), 0);
    }
  }

  std::int64_t solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t r = 0; r < schedules_.size(); ++r)
        for (std::size_t i = 0; i < schedules_[r].rounds(); ++i) changed |= update(r, i);
    }
    std::int64_t last = 0;
    for (const auto& ends : end_)
      for (const std::int64_t end : ends) last = std::max(last, end);
    return last;
  }

 private:
  bool update(std::size_t r, std::size_t i) {
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t reduced = 0;
    std::map<Rank, bool> receivers;
    std::map<Rank, bool> senders;
    for (const Step& step : schedules_[r].round(i)) {
      std::int64_t bytes = 0;
      for (std::uint32_t u = 0; u < step.slots().count; ++u)
        bytes += unit_bytes_[(step.slots().first + u) % unit_bytes_.size()];
      if (step.kind() == Step::Kind::send) out += bytes, receivers[step.peer()] = true;
      if (step.kind() == Step::Kind::recv || step.kind() == Step::Kind::recv_reduce)
        in += bytes, senders[step.peer()] = true;
      if (step.kind() == Step::Kind::recv_reduce || step.kind() == Step::Kind::reduce)
        reduced += bytes;
    }
    const std::int64_t start = start_of(r, i);
    const std::int64_t sent = start + static_cast<std::int64_t>(receivers.size()) * kCosts.alpha +
                              std::max(in, out) * kCosts.beta;
    std::int64_t arrived = sent;
    for (const auto& [sender, yes] : senders)
      arrived =
          std::max(arrived, sent_[static_cast<std::size_t>(sender)][source_round(sender, r, i)]);
    const std::int64_t end = arrived + reduced * kCosts.gamma;
    const bool changed = sent != sent_[r][i] || end != end_[r][i];
    sent_[r][i] = sent;
    end_[r][i] = end;
    return changed;
  }

  /// A round comes after what earlier ones send, and after those that touch what it touches.
  [[nodiscard]] std::int64_t start_of(std::size_t r, std::size_t i) const {
    std::int64_t start = i == 0 ? 0 : sent_[r][i - 1];
    for (std::size_t before = 0; before < i; ++before)
      if (schedules_[r].paced() || meet(schedules_[r].round(before), schedules_[r].round(i)))
        start = std::max(start, end_[r][before]);
    return start;
  }
  /// Whether two rounds touch a slot that one of them writes.
  static bool meet(std::span<const Step> earlier, std::span<const Step> later) {
    const auto is_in = [](const Slots& slots, std::uint32_t slot, bool scratch) {
      return (slots.space == Space::scratch) == scratch && slot >= slots.first &&
             slot < slots.first + slots.count;
    };
    const auto touches = [&](const Step& step, std::uint32_t slot, bool scratch) {
      const bool has_from = step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy;
      return is_in(step.slots(), slot, scratch) || (has_from && is_in(step.from(), slot, scratch));
    };
    const auto writes = [&](std::span<const Step> round, std::span<const Step> other) {
      return std::ranges::any_of(round, [&](const Step& step) {
        if (step.kind() == Step::Kind::send) return false;
        const bool scratch = step.slots().space == Space::scratch;
        for (std::uint32_t k = 0; k < step.slots().count; ++k)
          if (std::ranges::any_of(other, [&](const Step& second) {
                return touches(second, step.slots().first + k, scratch);
              }))
            return true;
        return false;
      });
    };
    return writes(earlier, later) || writes(later, earlier);
  }

  /// The sender's round of the message that rank r hears from it in round i: the k-th send matches
  /// the k-th receive.
  [[nodiscard]] std::size_t source_round(Rank sender, std::size_t r, std::size_t i) const {
    std::size_t nth = 0;
    for (std::size_t before = 0; before < i; ++before)
      nth += names(schedules_[r].round(before), sender, false);
    const Schedule& theirs = schedules_[static_cast<std::size_t>(sender)];
    for (std::size_t round = 0; round < theirs.rounds(); ++round)
      if (names(theirs.round(round), static_cast<Rank>(r), true) && nth-- == 0) return round;
    ADD_FAILURE() << "no message from " << sender << " to " << r;
    return 0;
  }
  static bool names(std::span<const Step> round, Rank peer, bool sending) {
    return std::any_of(round.begin(), round.end(), [&](const Step& step) {
      return step.has_peer() && step.peer() == peer && (step.kind() == Step::Kind::send) == sending;
    });
  }

  const std::vector<Schedule>& schedules_;
  const std::vector<std::int64_t>& unit_bytes_;
  std::vector<std::vector<std::int64_t>> sent_;
  std::vector<std::vector<std::int64_t>> end_;
};

TEST(Predict, ExactTimesMeetTheDefinitionForUnequalBlocks) {
  std::mt19937 random{7};
  for (const Algorithm& row : catalog()) {
    for (const int size : {2, 3, 4, 6, 8, 9}) {
      if (!admits(row.traits.sizes, size)) continue;
      const Rank root = is_rooted(row.collective) ? size / 2 : 0;
      const Choice choice = verified_choices(row, size, 1).front();
      const std::vector<Schedule> schedules = build_all(choice, size, root);
      const std::uint32_t blocks = Contract{row.collective, size, root}.blocks();
      const std::uint32_t parts = schedules.front().units() / blocks;
      std::vector<std::size_t> block_bytes;
      std::vector<std::int64_t> unit_bytes;
      for (std::uint32_t block = 0; block < blocks; ++block) {
        const std::size_t elements = random() % 40;  // some blocks have fewer elements than parts
        block_bytes.push_back(4 * elements);
        for (std::uint32_t part = 0; part < parts; ++part)
          unit_bytes.push_back(static_cast<std::int64_t>(
              4 * (elements / parts + (part < elements % parts ? 1 : 0))));
      }
      EXPECT_EQ(predict_exact(schedules, block_bytes, 4, kCosts),
                Relaxation(schedules, unit_bytes).solve())
          << name_of(row.collective) << " " << row.name << " on " << size;
    }
  }
}

TEST(Predict, ProfilesAreExactOrAboveWhereBlocksDivideEvenly) {
  std::size_t equal = 0;
  std::size_t all = 0;
  for (const Algorithm& row : catalog()) {
    for (const int size : {1, 2, 3, 4, 5, 8, 11, 16}) {
      if (!admits(row.traits.sizes, size)) continue;
      const Choice choice = verified_choices(row, size, 1).front();
      const std::vector<Schedule> schedules = build_all(choice, size, 0);
      const std::uint32_t blocks = Contract{row.collective, size, 0}.blocks();
      const std::size_t block = std::size_t{8} * schedules.front().units() / blocks;
      const Femtoseconds exact =
          predict_exact(schedules, std::vector<std::size_t>(blocks, block), 1, kCosts);
      const Profile profile = profile_of(choice, size, 0);
      const Femtoseconds predicted = profile.time(block * blocks, 0, kCosts);
      EXPECT_GE(predicted, exact) << name_of(row.collective) << " " << row.name << " " << size;
      EXPECT_LE(predicted, 2 * exact) << name_of(row.collective) << " " << row.name << " " << size;
      equal += predicted == exact;
      ++all;
    }
  }
  EXPECT_GE(equal * 10, all * 9) << equal << " of " << all << " are exact";
}

TEST(Predict, OneRankOfARotationalAlgorithmStandsForAll) {
  for (const Algorithm& row : catalog()) {
    if (!row.traits.rotational) continue;
    const Choice choice{.algorithm = &row, .number = row.default_number};
    for (const int size : {1, 2, 3, 7, 16})
      EXPECT_EQ(profile_of(choice, size, 0), profile_of(build_all(choice, size, 0)))
          << name_of(row.collective) << " " << row.name << " " << size;
  }
}

TEST(Predict, FourThousandRanksAreNoBurdenForLogRounds) {
  const auto path = [](Collective collective, const char* name) {
    return profile_of(parse_choice(collective, name), 4096, 0).path;
  };
  EXPECT_EQ(path(Collective::all_reduce, "recursive_doubling"), (Work{12, 12, 12, 12, 12, 24}));
  EXPECT_EQ(path(Collective::all_reduce, "rabenseifner"),
            (Work{24, 2 * 4095, 4095, 2 * 4095, 2 * 4095, 4 * 4095}));
  EXPECT_EQ(path(Collective::all_reduce, "circulant"),
            (Work{24, 2 * 4095, 4095, 2 * 4095, 2 * 4095, 4 * 4095}));
  EXPECT_EQ(path(Collective::broadcast, "binomial"), (Work{12, 12, 0, 12, 12, 12}));
  EXPECT_EQ(path(Collective::barrier, "dissemination:k=16"), (Work{45, 45, 45, 45, 3, 90}))
      << "what fifteen ranks send in a round is folded at once";
  EXPECT_EQ(path(Collective::all_reduce, "ring"),
            (Work{2 * 4095, 2 * 4095, 4095, 2 * 4095, 2 * 4095, 4 * 4095}));
}

TEST(Predict, SegmentsAreCountedAndRoundedUp) {
  const Profile hop{.units = 1, .rounds = 1, .path = {2, 2, 0}, .busiest = {1, 1, 0}};
  const LinkCosts costs{.alpha = 100, .beta = 1};
  EXPECT_EQ(hop.time(1000, 0, costs), 200 + 2000);
  EXPECT_EQ(hop.time(1000, 1000, costs), 200 + 2000);
  EXPECT_EQ(hop.time(1000, 500, costs), 300 + 1500);
  EXPECT_EQ(hop.time(1000, 400, costs), 400 + 1334);  // three segments, 4/3 of 1000, rounded up
  EXPECT_EQ(hop.time(0, 400, costs), 200);
}

TEST(Predict, SegmentsOverlapOnAWire) {
  const Profile hop{.units = 1, .rounds = 1, .path = {2, 2, 1}, .busiest = {1, 1, 1}};
  const LinkCosts costs{.alpha = 100, .beta = 1, .gamma = 2, .overlaps = true};
  EXPECT_EQ(hop.time(1000, 0, costs), 200 + 2000 + 2000);  // a segment alone overlaps with nothing
  EXPECT_EQ(hop.time(1000, 500, costs), 200 + 1000 + 1000 + 1000);  // the second one's reductions
  EXPECT_EQ(hop.time(1000, 10, costs), 200 + 20 + 20 + 99 * 100);   // 99 messages
  EXPECT_EQ(hop.time(1000, 500, {.alpha = 100, .beta = 3, .gamma = 2, .overlaps = true}),
            200 + 3000 + 1000 + 1500);
}

TEST(Predict, RanksThatShareCoresWaitForWhatAllDo) {
  const Profile tree = profile_of(parse_choice(Collective::broadcast, "binomial"), 4, 0);
  EXPECT_EQ(tree.all, (Work{3, 3, 0, 3, 3, 6}));
  const LinkCosts costs{.alpha = 100, .beta = 1, .gamma = 2, .round = 10, .shared_cores = 2};
  // Each copy of a message is made twice, on two cores; of those that take them alike the one is
  // the first whose ranks do less by themselves, and on the longest path.
  EXPECT_EQ(tree.time(1000, 0, costs), (300 + 6000) / 2 + (2200 + 2200) / 1024);
  const Profile way = profile_of(parse_choice(Collective::exscan, "chain"), 4, 0);
  EXPECT_TRUE(way.one_way);
  EXPECT_EQ(way.rounds, 2U) << "with messages";
  EXPECT_EQ(way.all, (Work{3, 3, 2, 3, 3, 6}));
  EXPECT_EQ(way.time(1000, 0, costs), (300 + 4000 + 2 * 2000) / 2 + (3100 + 7300) / 1024)
      << "no rank waits for the last, and what is reduced is not copied before";
  EXPECT_EQ(way.time(1000, 0, {.alpha = 100, .beta = 1, .gamma = 2, .round = 10}),
            2 * 10 + 300 + 3000 + 2 * 2000);
  const Profile chain = profile_of(parse_choice(Collective::broadcast, "chain"), 9, 0);
  EXPECT_EQ(chain.time(1000, 10, costs), (80'000 + 16000) / 2 + (11000 + 11770) / 1024);
  const Profile ring = profile_of(parse_choice(Collective::all_reduce, "ring"), 4, 0);
  EXPECT_EQ(ring.all, (Work{24, 24, 12, 24, 24, 48})) << "of which one rank's schedule was built";
  EXPECT_FALSE(ring.one_way);
  EXPECT_FALSE(profile_of(parse_choice(Collective::all_reduce, "reduce_broadcast"), 4, 0).one_way);
  EXPECT_EQ(ring.time(1000, 0, costs), 6 * 10 + (2400 + 6000 + 2 * 3000) / 2);
}

TEST(Predict, WhatIsReadWhereItLiesCostsItsReceiversAlone) {
  const LinkCosts costs{
      .alpha = 100, .beta = 1, .round = 10, .shared_cores = 2, .buffered_bytes = 1000};
  const auto time = [&](Collective collective, const char* row, std::size_t bytes,
                        std::size_t segment = 0) {
    return profile_of(parse_choice(collective, row), 4, 0).time(bytes, segment, costs);
  };
  // The root of a flat tree sends three messages, which are copied three times; on two cores.
  EXPECT_EQ(time(Collective::broadcast, "knomial:k=4", 1000), 300 + 3000 + 6600 / 1024);
  EXPECT_EQ(time(Collective::broadcast, "knomial:k=4", 1002), 10 + (300 + 3006) / 2);
  const Profile alone = profile_of(parse_choice(Collective::broadcast, "chain"), 1, 0);
  EXPECT_EQ(alone.time(5000, 0, costs), 0) << "there is nobody to read it";
  LinkCosts none = costs;  // is ever read
  none.buffered_bytes = 0;
  const Profile copied = profile_of(parse_choice(Collective::broadcast, "knomial:k=4"), 4, 0);
  EXPECT_EQ(copied.time(5000, 0, none), 300 + 15000 + 30600 / 1024);
  none.buffered_bytes = 1;
  EXPECT_EQ(copied.time(5000, 0, none), 10 + (300 + 15000) / 2);
  // A reduction copies first.
  LinkCosts folds = costs;
  folds.gamma = 1;
  const Profile flat = profile_of(parse_choice(Collective::reduce, "knomial:k=4"), 4, 0);
  EXPECT_EQ(flat.time(1000, 0, folds), 6100 + 12200 / 1024);
  EXPECT_EQ(flat.time(1002, 0, folds), 10 + 100 + 3006 + 3006);
  folds.gamma_read = 4;
  EXPECT_EQ(flat.time(1000, 0, folds), 6100 + 12200 / 1024);
  EXPECT_EQ(flat.time(1002, 0, folds), 10 + 100 + 3006 + 4 * 3006);
  // Several reads into one place at once store once.
  folds.fuses = true;
  EXPECT_EQ(flat.time(1002, 0, folds), 10 + 100 + 1002 + 4 * 3006);
  // A chain continues if no rank waits to be read, and else runs from one end to the other.
  EXPECT_EQ(time(Collective::broadcast, "chain", 1000), (300 + 6000) / 2 + 4400 / 1024);
  EXPECT_EQ(time(Collective::broadcast, "chain", 1002), 2 * 10 + 300 + 3006);
  EXPECT_EQ(time(Collective::broadcast, "chain", 1002, 501), (600 + 6012) / 2 + 3606 / 1024)
      << "by segments that are copied";
  // Three messages of a scatter are a quarter each.
  EXPECT_EQ(time(Collective::scatter, "linear:k=1", 4000), 300 + 3000 + 6600 / 1024);
  EXPECT_EQ(time(Collective::scatter, "linear:k=1", 4004), 3 * 10 + (300 + 3003) / 2);
}

TEST(Predict, OverMemoryARankMovesInAndOutOneAfterTheOther) {
  const auto time = [](const char* row, bool half_duplex) {
    const LinkCosts costs{.alpha = 100, .beta = 2, .gamma = 1, .half_duplex = half_duplex};
    return profile_of(parse_choice(Collective::reduce, row), 2, 0).time(1000, 0, costs);
  };
  EXPECT_EQ(time("binomial", false), 100 + 2000 + 1000);
  EXPECT_EQ(time("binomial", true), 100 + 2000 + 1000) << "one sends, the other one receives";
  EXPECT_EQ(time("reduce_scatter_gather", false), 200 + 2000 + 500);
  EXPECT_EQ(time("reduce_scatter_gather", true), 200 + 3000 + 500) << "both do, at first";
}

// Rank 0 sends to rank 2 what has nothing to do with what it receives of rank 1.
TEST(Predict, RoundsThatTouchOtherSlotsDoNotWait) {
  const Slots first{Space::out, 0}, second{Space::out, 1};
  for (const bool paced : {false, true}) {
    const std::vector<Schedule> schedules{
        Schedule{2, 0, paced}.round({Recv{1, first}}).round({Send{2, second}}),
        Schedule{2}.round({Send{0, first}}), Schedule{2}.round({Recv{0, second}})};
    const std::vector<std::size_t> bytes{200};
    EXPECT_EQ(predict_exact(schedules, bytes, 1, kCosts),
              (paced ? 2 * kCosts.alpha : kCosts.alpha) + 2 * 100 * kCosts.beta);
  }
}

// The last quarter is reduced beside no message; the other three are, on a wire.
TEST(Predict, ReductionsGoOnBesideMessagesOnAWireOnly) {
  const Profile profile = profile_of(parse_choice(Collective::reduce, "circulant:b=4"), 2, 0);
  LinkCosts wire = kCosts;
  wire.overlaps = true;
  EXPECT_EQ(profile.time(400, 0, kCosts) - profile.time(400, 0, wire), 300 * kCosts.gamma);
}

TEST(Predict, RoundsAreThoseOfTheBusiestRank) {
  // The root of a binomial broadcast to 8 ranks sends in three rounds, the last rank receives in
  // one.
  EXPECT_EQ(profile_of(parse_choice(Collective::broadcast, "binomial"), 8, 0).rounds, 3U);
}

TEST(Predict, ScratchPlanesAreShapedLikeTheVector) {
  // The first of two parts of 12 bytes in elements of 4 has 8 bytes: also in the second plane.
  const Slots first_part{Space::out, 0};
  std::vector<Schedule> schedules{Schedule{2, 2}, Schedule{2, 2}};
  schedules[0].round({Send{1, first_part}});
  schedules[1].round({Recv{0, {Space::scratch, 2}}}).round({Send{0, {Space::scratch, 2}}});
  schedules[0].round({Recv{1, first_part}});
  const std::vector<std::size_t> block_bytes{12};
  EXPECT_EQ(predict_exact(schedules, block_bytes, 4, kCosts), 2 * (kCosts.alpha + 8 * kCosts.beta));
}

TEST(Predict, HugeTimesSaturate) {
  const Profile ring{.units = 4, .rounds = 6, .path = {6, 6, 3}, .busiest = {6, 6, 3}};
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(ring.time(most, 0, kDefaultCosts), std::numeric_limits<Femtoseconds>::max());
  EXPECT_EQ(ring.time(most, 1, kDefaultCosts), std::numeric_limits<Femtoseconds>::max());
}

TEST(Predict, AReceiveWithoutASendIsNamed) {
  const std::vector<Schedule> schedules{Schedule{1}.round({Send{1, {}}}),
                                        Schedule{1}.round({Recv{0, {}}}).round({Recv{0, {}}})};
  try {
    (void)profile_of(schedules);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "rank 1, round 1: waits for rank 0, which never sends it");
  }
}

TEST(Predict, ASendToNobodyIsNamed) {
  for (const Rank nobody : {2, 1 << 30}) {
    const std::vector<Schedule> schedules{Schedule{1}.round({Send{nobody, {}}}), Schedule{1}};
    EXPECT_THROW((void)profile_of(schedules), Error);
  }
}

TEST(Predict, RanksThatCutTheVectorDifferentlyAreRefused) {
  const std::vector<Schedule> schedules{Schedule{4}, Schedule{2}};
  EXPECT_THROW((void)profile_of(schedules), Error);
  EXPECT_THROW((void)predict_exact(schedules, std::vector<std::size_t>{8}, 1, kCosts), Error);
}

TEST(Predict, BlocksThatDoNotDivideTheUnitsAreRefused) {
  const std::vector<Schedule> schedules{Schedule{4}};
  const std::vector<std::size_t> three{1, 2, 3};
  EXPECT_THROW((void)predict_exact(schedules, three, 1, kCosts), Error);
  EXPECT_THROW((void)predict_exact(schedules, std::vector<std::size_t>{4}, 0, kCosts), Error);
}

}  // namespace
}  // namespace tutti::v0
