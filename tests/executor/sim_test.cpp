// The simulated cluster by itself: matching, time, faults, abort.
#include "backends/sim/sim.hpp"

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tutti::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// A cluster with all its transports, and short words for what the tests do.
struct Fixture {
  explicit Fixture(const ClusterOptions& options) : cluster{options} {
    for (Rank rank = 0; rank < options.size; ++rank) transports.push_back(cluster.transport(rank));
  }
  Transport& operator[](Rank rank) { return *transports[static_cast<std::size_t>(rank)]; }

  Cluster cluster;
  std::vector<std::unique_ptr<Transport>> transports{};
};

/// A buffer that is one piece.
struct Buffer {
  explicit Buffer(std::size_t size, std::uint8_t first = 0) : bytes(size) {
    std::uint8_t value = first;
    for (std::byte& byte : bytes) byte = std::byte{value++};
    piece = {bytes.data(), bytes.size()};
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::vector<std::byte> bytes;
  Piece piece{};
};

Transfer send_of(const Buffer& buffer, Rank peer, std::uint32_t tag = 0, std::uint64_t cookie = 0) {
  return {Transfer::Kind::send, peer, tag, 7, cookie, std::span{&buffer.piece, 1}};
}
Transfer receive_of(const Buffer& buffer, Rank peer, std::uint32_t tag = 0,
                    std::uint64_t cookie = 0) {
  return {Transfer::Kind::recv, peer, tag, 7, cookie, std::span{&buffer.piece, 1}};
}
void post(Transport& transport, const Transfer& transfer) {
  transport.post(std::span{&transfer, 1});
}

std::vector<std::uint64_t> cookies(Transport& transport) {
  std::array<Completion, 64> completions{};
  const std::size_t count = transport.poll(completions);
  std::vector<std::uint64_t> result{};
  for (std::size_t i = 0; i < count; ++i) result.push_back(completions[i].cookie);
  return result;
}

Error error_of_poll(Transport& transport) {
  try {
    static_cast<void>(cookies(transport));
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "poll did not throw";
  return {ErrorCode::bug, "poll did not throw"};
}

bool contains(const Error& error, const std::string& text) {
  return std::string{error.what()}.find(text) != std::string::npos;
}

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
