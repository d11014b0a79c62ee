// The simulated cluster by itself: aborts, and what its script makes of ranks.
#include "sim_fixture.hpp"

namespace tutti::sim {
namespace {

TEST(Sim, AbortReachesAllWithTheFirstCause) {
  Fixture ranks{{.size = 4, .delivery = Delivery::rendezvous}};
  const Buffer from{4, 1};
  Buffer into{4, 60};
  post(ranks[2], receive_of(into, 1));
  post(ranks[1], send_of(from, 2));
  ranks[2].abort({ErrorCode::timeout, "rank 3 never came", 3});
  ranks[2].abort({ErrorCode::bug, "a second cause"});
  while (ranks.cluster.advance()) {
  }
  EXPECT_EQ(into.bytes, Buffer(4, 60).bytes) << "nothing is written once abort has returned";
  EXPECT_EQ(error_of_poll(ranks[2]).code(), ErrorCode::timeout);
  for (const Rank rank : {0, 1, 3}) {
    const Error error = error_of_poll(ranks[rank]);
    EXPECT_EQ(error.code(), ErrorCode::aborted);
    EXPECT_EQ(error.cause(), ErrorCode::timeout);
    EXPECT_EQ(error.culprit(), 3);
    EXPECT_TRUE(contains(error, "rank 2 failed: rank 3 never came")) << error.what();
    ranks[rank].abort(error);
    EXPECT_STREQ(error_of_poll(ranks[rank]).what(), error.what()) << "the first cause stays";
  }
  EXPECT_THROW(post(ranks[0], send_of(from, 1)), Error);
}

TEST(Sim, TheFirstOfTwoAbortsIsHeard) {
  Fixture ranks{{.size = 3}};
  ranks[1].abort({ErrorCode::timeout, "rank 0 never came", 0});
  ranks[2].abort({ErrorCode::bug, "a second cause"});
  while (ranks.cluster.advance()) {
  }
  EXPECT_EQ(error_of_poll(ranks[0]).cause(), ErrorCode::timeout);
  EXPECT_EQ(error_of_poll(ranks[2]).code(), ErrorCode::bug) << "its own came first";
}

TEST(Sim, ADeadRankFallsSilent) {
  for (const bool detect : {false, true}) {
    Fixture ranks{{.size = 3,
                   .delivery = Delivery::rendezvous,
                   .faults = {{.rank = 1, .kind = Fault::Kind::death, .after_transfers = 2}},
                   .detect_death = detect}};
    const Buffer from{4};
    Buffer into{4, 60};
    post(ranks[0], receive_of(into, 1, 0));
    post(ranks[1], send_of(from, 0, 9));
    EXPECT_FALSE(ranks.cluster.is_dead(1));
    post(ranks[1], send_of(from, 0, 0));
    EXPECT_TRUE(ranks.cluster.is_dead(1));
    post(ranks[1], send_of(from, 0, 0));
    EXPECT_EQ(ranks.cluster.transfers(), 3u) << "the dead post nothing";
    while (ranks.cluster.advance()) {
    }
    EXPECT_EQ(into.bytes, Buffer(4, 60).bytes);
    EXPECT_TRUE(cookies(ranks[1]).empty());
    if (detect) {
      EXPECT_EQ(error_of_poll(ranks[0]).code(), ErrorCode::peer_dead);
      EXPECT_EQ(error_of_poll(ranks[2]).culprit(), 1);
    } else {
      EXPECT_TRUE(cookies(ranks[0]).empty());
    }
  }
}

TEST(Sim, ADelayedRankComesBack) {
  Fixture ranks{{.size = 2,
                 .alpha = microseconds{1},
                 .jitter = nanoseconds{0},
                 .faults = {{.rank = 0, .at = microseconds{10}, .length = microseconds{100}}}}};
  const Buffer from{4};
  Buffer into{4, 60};
  ranks.cluster.advance_by(microseconds{10});
  post(ranks[1], receive_of(into, 0));
  post(ranks[0], send_of(from, 1));
  ranks.cluster.advance_by(microseconds{99});
  EXPECT_TRUE(cookies(ranks[0]).empty());
  EXPECT_TRUE(cookies(ranks[1]).empty());
  ranks.cluster.advance_by(microseconds{5});
  EXPECT_EQ(cookies(ranks[0]).size(), 1u);
  EXPECT_EQ(into.bytes, from.bytes);
}

TEST(Sim, ADelayedRankSeesNothingOfWhatWaits) {
  Fixture ranks{{.size = 2,
                 .alpha = microseconds{1},
                 .jitter = nanoseconds{0},
                 .faults = {{.rank = 0, .at = microseconds{10}, .length = microseconds{100}}}}};
  const Buffer from{4};
  Buffer into{4, 60};
  post(ranks[0], receive_of(into, 1));
  post(ranks[1], send_of(from, 0));
  ranks.cluster.advance_by(microseconds{50});
  EXPECT_EQ(into.bytes, from.bytes) << "it came before the delay";
  EXPECT_TRUE(cookies(ranks[0]).empty());
  ranks.cluster.advance_by(microseconds{70});
  EXPECT_EQ(cookies(ranks[0]).size(), 1u);
}

}  // namespace
}  // namespace tutti::sim
