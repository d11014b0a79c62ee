// The simulated cluster by itself: matching, time, parts, messages that stay.
#include "sim_fixture.hpp"

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tutti::sim {
namespace {

TEST(Sim, MovesBytesOverSeveralPieces) {
  for (const Delivery delivery : {Delivery::eager, Delivery::rendezvous}) {
    Fixture ranks{{.size = 2, .delivery = delivery}};
    const Buffer a{5, 10};
    const Buffer b{3, 100};
    Buffer c{2};
    Buffer d{6};
    const std::array<Piece, 2> from{a.piece, b.piece};
    const std::array<Piece, 2> into{c.piece, d.piece};
    post(ranks[0], {Transfer::Kind::send, 1, 3, 9, 1, from});
    post(ranks[1], {Transfer::Kind::recv, 0, 3, 9, 2, into});
    while (ranks.cluster.advance()) {
    }
    EXPECT_EQ(cookies(ranks[0]), std::vector<std::uint64_t>{1});
    EXPECT_EQ(cookies(ranks[1]), std::vector<std::uint64_t>{2});
    EXPECT_EQ(c.bytes, (std::vector{std::byte{10}, std::byte{11}}));
    EXPECT_EQ(d.bytes, (std::vector{std::byte{12}, std::byte{13}, std::byte{14}, std::byte{100},
                                    std::byte{101}, std::byte{102}}));
    EXPECT_EQ(ranks.cluster.transfers(), 2u);
    EXPECT_EQ(ranks.cluster.activity(), 4u);
  }
}

TEST(Sim, EmptyMessagesAndMessagesToOneselfArrive) {
  Fixture ranks{{.size = 1}};
  post(ranks[0], {Transfer::Kind::recv, 0, 0, 1, 1, {}});
  post(ranks[0], {Transfer::Kind::send, 0, 0, 1, 2, {}});
  while (ranks.cluster.advance()) {
  }
  EXPECT_EQ(cookies(ranks[0]).size(), 2u);
}

TEST(Sim, EqualTagsMatchInTheOrderOfPosting) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fixture ranks{{.size = 2, .seed = seed}};
    std::vector<std::unique_ptr<Buffer>> from{};
    std::vector<std::unique_ptr<Buffer>> into{};
    for (std::uint8_t i = 0; i < 8; ++i) {
      from.push_back(std::make_unique<Buffer>(4, static_cast<std::uint8_t>(16 * i)));
      into.push_back(std::make_unique<Buffer>(4));
    }
    for (std::size_t i = 0; i < 4; ++i) post(ranks[0], send_of(*from[i], 1, 5));
    for (std::size_t i = 0; i < 8; ++i) post(ranks[1], receive_of(*into[i], 0, 5));
    for (std::size_t i = 4; i < 8; ++i) post(ranks[0], send_of(*from[i], 1, 5));
    while (ranks.cluster.advance()) {
    }
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(from[i]->bytes, into[i]->bytes) << seed;
  }
}

TEST(Sim, AnUnreceivedTagBlocksNoOther) {
  Fixture ranks{{.size = 2, .delivery = Delivery::rendezvous}};
  const Buffer a{4, 1};
  const Buffer b{4, 50};
  Buffer into{4};
  post(ranks[0], send_of(a, 1, 1, 11));
  post(ranks[0], send_of(b, 1, 2, 12));
  post(ranks[1], receive_of(into, 0, 2, 13));
  while (ranks.cluster.advance()) {
  }
  EXPECT_EQ(cookies(ranks[0]), std::vector<std::uint64_t>{12});
  EXPECT_EQ(cookies(ranks[1]), std::vector<std::uint64_t>{13});
  EXPECT_EQ(into.bytes, b.bytes);
}

/// The order in which eight messages of different tags complete under a seed.
std::vector<std::uint64_t> order_of(std::uint64_t seed) {
  Fixture ranks{{.size = 2, .seed = seed}};
  const Buffer from{1};
  Buffer into{1};
  for (std::uint32_t tag = 0; tag < 8; ++tag) {
    post(ranks[1], receive_of(into, 0, tag, tag));
    post(ranks[0], send_of(from, 1, tag));
  }
  while (ranks.cluster.advance()) {
  }
  return cookies(ranks[1]);
}

TEST(Sim, TheSeedDecidesTheOrder) {
  EXPECT_EQ(order_of(1), order_of(1));
  int different = 0;
  for (std::uint64_t seed = 2; seed < 12; ++seed)
    different += order_of(1) != order_of(seed) ? 1 : 0;
  EXPECT_GE(different, 9);
}

TEST(Sim, EagerCompletesWithoutAReceiveAndRendezvousDoesNot) {
  Fixture eager{{.size = 2, .delivery = Delivery::eager}};
  Buffer from{4, 1};
  post(eager[0], send_of(from, 1, 0, 5));
  while (eager.cluster.advance()) {
  }
  EXPECT_EQ(cookies(eager[0]), std::vector<std::uint64_t>{5});
  from.bytes.assign(4, std::byte{99});
  Buffer into{4};
  post(eager[1], receive_of(into, 0));
  while (eager.cluster.advance()) {
  }
  EXPECT_EQ(into.bytes, Buffer(4, 1).bytes) << "an eager send is copied out";

  Fixture rendezvous{{.size = 2, .delivery = Delivery::rendezvous}};
  post(rendezvous[0], send_of(from, 1));
  EXPECT_FALSE(rendezvous.cluster.advance());
  EXPECT_TRUE(cookies(rendezvous[0]).empty());
}

TEST(Sim, TimeFollowsLatencyAndBandwidth) {
  Fixture ranks{{.size = 3,
                 .delivery = Delivery::rendezvous,
                 .alpha = microseconds{2},
                 .beta_ps = 1000,
                 .jitter = nanoseconds{0},
                 .slowdown = {1, 3, 1}}};
  const Buffer from{1000};
  Buffer into{1000};
  post(ranks[0], send_of(from, 2, 0));
  post(ranks[0], send_of(from, 2, 1));
  post(ranks[2], receive_of(into, 0, 0));
  post(ranks[2], receive_of(into, 0, 1));
  EXPECT_TRUE(cookies(ranks[2]).empty()) << "poll does not move the clock";
  EXPECT_TRUE(ranks.cluster.advance());
  EXPECT_EQ(ranks.cluster.now(), microseconds{3}) << "2 us of latency, 1000 bytes at 1 ns";
  EXPECT_TRUE(ranks.cluster.advance());
  EXPECT_EQ(ranks.cluster.now(), microseconds{4}) << "the port sends one message after the other";
  EXPECT_FALSE(ranks.cluster.advance());
  ranks.cluster.advance_by(microseconds{6});
  EXPECT_EQ(ranks[0].now(), microseconds{10});
  post(ranks[1], send_of(from, 2));
  post(ranks[2], receive_of(into, 1));
  EXPECT_TRUE(ranks.cluster.advance());
  EXPECT_EQ(ranks.cluster.now(), microseconds{19}) << "a slow rank takes three times as long";
}

TEST(Sim, AdvanceByStopsBeforeWhatIsNotDue) {
  Fixture ranks{{.size = 2,
                 .delivery = Delivery::rendezvous,
                 .alpha = microseconds{5},
                 .beta_ps = 0,
                 .jitter = nanoseconds{0}}};
  const Buffer from{4};
  Buffer into{4, 9};
  post(ranks[0], send_of(from, 1));
  post(ranks[1], receive_of(into, 0));
  ranks.cluster.advance_by(microseconds{4});
  EXPECT_TRUE(cookies(ranks[1]).empty());
  EXPECT_EQ(into.bytes, Buffer(4, 9).bytes);
  ranks.cluster.advance_by(microseconds{1});
  EXPECT_EQ(cookies(ranks[1]).size(), 1u);
  EXPECT_EQ(into.bytes, from.bytes);
}

TEST(Sim, ScribblesOverPostedReceives) {
  Fixture ranks{{.size = 2, .scribble = true}};
  Buffer into{4};
  post(ranks[1], receive_of(into, 0));
  EXPECT_EQ(into.bytes, std::vector<std::byte>(4, std::byte{0xa5}));
}

// A combiner that gets all parts at once would hide a wrong order of parts.
TEST(Sim, GivesCombinersParts) {
  struct Counter final : Combiner {
    void combine(std::span<const std::byte>) override { ++parts; }
    int parts = 0;
  };
  constexpr int kMessages = 200;
  Fixture ranks{{.size = 2, .delivery = Delivery::rendezvous}};
  const Buffer from{64};
  Buffer into{64};
  Counter counter{};
  std::array<Completion, 1> completion{};
  for (int i = 0; i < kMessages; ++i) {
    Transfer receive = receive_of(into, 0);
    receive.combiner = &counter;
    receive.reduced = true;
    post(ranks[1], receive);
    post(ranks[0], send_of(from, 1));
    while (ranks.cluster.advance()) {
    }
    ASSERT_EQ(ranks[1].poll(completion), 1U);
  }
  EXPECT_GT(counter.parts, 2 * kMessages) << "in few parts";
}

TEST(Sim, LeavesMostMessagesThatAreWaitedFor) {
  constexpr int kMessages = 200;
  Fixture ranks{{.size = 2, .delivery = Delivery::rendezvous}};
  const Buffer from{64};
  Buffer into{64};
  Buffer result{64};
  std::array<Completion, 1> completion{};
  int left = 0;
  for (int i = 0; i < kMessages; ++i) {
    Transfer wait = receive_of(into, 0);
    wait.kind = Transfer::Kind::wait;
    post(ranks[1], wait);
    Transfer send = send_of(from, 1);
    send.result = {result.bytes.data(), result.bytes.size(), 7};
    post(ranks[0], send);
    while (ranks.cluster.advance()) {
    }
    ASSERT_EQ(ranks[1].poll(completion), 1U);
    const Completion waited = completion.front();
    if (waited.access == kNoAccess) {
      ASSERT_EQ(ranks[0].poll(completion), 1U);
      EXPECT_FALSE(completion.front().is_stored);
      continue;
    }
    ++left;
    EXPECT_EQ(ranks[0].poll(completion), 0U) << "it is still being read";
    EXPECT_EQ(ranks[1].open_result(waited.access, 8, 64), nullptr);
    const bool stores = left % 2 == 0;
    if (stores) {
      EXPECT_EQ(ranks[1].open_result(waited.access, 7, 64), result.bytes.data());
    }
    ranks[1].signal(waited.access, stores);
    while (ranks.cluster.advance()) {
    }
    ASSERT_EQ(ranks[0].poll(completion), 1U);
    EXPECT_EQ(completion.front().is_stored, stores);
  }
  EXPECT_GT(left, kMessages / 2);
  EXPECT_LT(left, kMessages);
}

TEST(Sim, ADifferentFingerprintOrLengthIsAMismatch) {
  for (const bool other_length : {false, true}) {
    for (const Delivery delivery : {Delivery::eager, Delivery::rendezvous}) {
      Fixture ranks{{.size = 3, .delivery = delivery}};
      const Buffer from{4};
      Buffer into{other_length ? 5u : 4u, 77};
      const std::vector<std::byte> before = into.bytes;
      Transfer sending = send_of(from, 1);
      if (!other_length) sending.fingerprint = 0xabcd;
      post(ranks[0], sending);
      post(ranks[1], receive_of(into, 0));
      while (ranks.cluster.advance()) {
      }
      const Error error = error_of_poll(ranks[1]);
      EXPECT_EQ(error.code(), ErrorCode::mismatch);
      EXPECT_EQ(error.culprit(), 0);
      EXPECT_TRUE(contains(error, other_length ? "rank 0 sent 4 bytes, this rank expects 5"
                                               : "rank 0 runs another call"))
          << error.what();
      EXPECT_TRUE(other_length || contains(error, "abcd")) << error.what();
      EXPECT_EQ(into.bytes, before) << "nothing of a mismatched message may be written";
      EXPECT_EQ(cookies(ranks[0]).size(), delivery == Delivery::rendezvous ? 0U : 1U)
          << "the receiver tells the sender, by its abort";
      EXPECT_TRUE(cookies(ranks[2]).empty());
    }
  }
}

TEST(Sim, TransportsOutliveTheClusterAndOneMayGo) {
  std::unique_ptr<Transport> kept;
  Buffer into{4, 60};
  {
    Fixture ranks{{.size = 2, .delivery = Delivery::rendezvous}};
    const Buffer from{4};
    post(ranks[0], send_of(from, 1));
    post(ranks[1], receive_of(into, 0));
    kept = std::move(ranks.transports[1]);
    ranks.transports[0].reset();
    while (ranks.cluster.advance()) {
    }
    EXPECT_EQ(into.bytes, Buffer(4, 60).bytes) << "the pieces of a closed transport are not read";
  }
  EXPECT_EQ(kept->size(), 2);
  EXPECT_TRUE(cookies(*kept).empty());
}

TEST(Sim, RejectsWrongOptionsAndTransfers) {
  EXPECT_THROW(Cluster({.size = 0}), Error);
  EXPECT_THROW(Cluster({.size = 2, .slowdown = {1}}), Error);
  EXPECT_THROW(Cluster({.size = 2, .faults = {{.rank = 2}}}), Error);
  Fixture ranks{{.size = 2, .tags = 4}};
  EXPECT_THROW(static_cast<void>(ranks.cluster.transport(0)), Error) << "once per rank";
  EXPECT_THROW(static_cast<void>(ranks.cluster.transport(2)), Error);
  const Buffer from{1};
  EXPECT_THROW(post(ranks[0], send_of(from, 2)), Error);
  EXPECT_THROW(post(ranks[0], send_of(from, 1, 4)), Error);
}

}  // namespace
}  // namespace tutti::sim
