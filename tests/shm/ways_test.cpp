// Which way long messages take, as the receiver has found them to be quick.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include "partner.hpp"

namespace tutti::shm {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMany = std::uint64_t{1} << 18;

constexpr std::array kStreamFirst{Take::stream, Take::read};
constexpr std::array kReadFirst{Take::read, Take::stream};
constexpr std::array kAll{Take::stream, Take::past, Take::read, Take::share};

/// A machine on which each way takes its time. @return how many of the messages streamed.
int streamed(Ways& ways, int messages, Duration by_streaming, Duration by_reading) {
  int count = 0;
  for (int i = 0; i < messages; ++i) {
    const Take take = ways.choose(kMany, {}, kStreamFirst);
    ways.took(kMany, {}, take, take == Take::stream ? by_streaming : by_reading);
    count += take == Take::stream ? 1 : 0;
  }
  return count;
}

TEST(Ways, AreAsUsualAtFirst) {
  for (const auto& takes : {kStreamFirst, kReadFirst}) {
    Ways ways;
    EXPECT_EQ(ways.choose(kMany, {}, takes), takes[0]);
    EXPECT_EQ(ways.choose(kMany, {}, takes), takes[0]) << "nothing is known before one has ended";
    ways.took(kMany, {}, takes[0], 10us);
    EXPECT_EQ(ways.choose(kMany, {}, takes), takes[1]) << "the other one is tried once";
  }
}

TEST(Ways, AreThoseThatAreQuickerButForTrials) {
  Ways streams;
  EXPECT_EQ(streamed(streams, 1280, 10us, 30us), 1280 - 1 - 15);
  Ways reads;
  EXPECT_EQ(streamed(reads, 1280, 30us, 10us), 1 + 15);
}

TEST(Ways, AreTriedInTurnWhereThereAreMore) {
  for (const Take quickest : kAll) {
    Ways ways;
    std::array<int, 4> counts{};
    for (int i = 0; i < 4096; ++i) {
      const Take take = ways.choose(kMany, {}, kAll);
      ++counts[static_cast<std::size_t>(take)];
      ways.took(kMany, {}, take, take == quickest ? 10us : 20us);
    }
    for (const Take take : kAll)
      EXPECT_EQ(counts[static_cast<std::size_t>(take)], take == quickest ? 4096 - 3 * 13 : 13);
  }
}

TEST(Ways, AreNotJudgedByTheirFirstMessage) {
  Ways ways;
  ways.took(kMany, {}, Take::stream, 500us);
  ways.took(kMany, {}, Take::read, 30us);
  EXPECT_GE(streamed(ways, 128, 10us, 30us), 128 - 4 - 5) << "found at the fourth, but for trials";
}

TEST(Ways, FollowAMachineThatChanges) {
  Ways ways;
  static_cast<void>(streamed(ways, 100, 10us, 15us));
  static_cast<void>(streamed(ways, 200, 60us, 20us));
  EXPECT_LE(streamed(ways, 128, 60us, 20us), 2) << "trials";
  static_cast<void>(streamed(ways, 200, 10us, 15us));
  EXPECT_GE(streamed(ways, 128, 10us, 15us), 126);
}

TEST(Ways, AreForgivenOneDelay) {
  Ways ways;
  static_cast<void>(streamed(ways, 10, 10us, 30us));
  ways.took(kMany, {}, Take::stream, 100ms);  // it did not run meanwhile
  EXPECT_EQ(ways.choose(kMany, {}, kStreamFirst), Take::stream);
}

TEST(Ways, AreComparedBySizeAndByWhatBecomesOfTheBytes) {
  Ways ways;
  static_cast<void>(streamed(ways, 10, 30us, 10us));
  EXPECT_EQ(ways.choose(kMany + 1000, {}, kStreamFirst), Take::read);
  EXPECT_EQ(ways.choose(kMany, {.folds = true}, kStreamFirst), Take::stream);
  EXPECT_EQ(ways.choose(kMany, {.exchanged = true}, kStreamFirst), Take::stream);
  EXPECT_EQ(ways.choose(4 * kMany, {}, kStreamFirst), Take::stream);
  EXPECT_EQ(ways.choose(65536, {}, kStreamFirst), Take::stream);
  EXPECT_EQ(ways.choose(std::uint64_t{1} << 40, {}, kStreamFirst), Take::stream);
}

TEST(Ways, HaveANumberForEachKindOfMessage) {
  unsigned seen = 0;
  for (std::uint64_t bytes = Ways::kLeast; bytes <= std::uint64_t{64} << 20; bytes *= 2)
    for (const bool exchanged : {false, true}) {
      const unsigned kind = Ways::kind_of(bytes, exchanged);
      EXPECT_LT(kind, 32u) << "there are two bits for each in 64";
      const bool is_last = bytes > std::uint64_t{16} << 20;
      EXPECT_EQ((seen >> kind & 1) != 0, is_last) << bytes;
      EXPECT_EQ(Ways::kind_of(2 * bytes - 1, exchanged), kind);
      seen |= 1u << kind;
    }
}

TEST(ShmWays, OneShortCopyOfSixteenIsTimed) {
  Partner partner;
  partner.send(100, Way::stream, 0);  // so that it knows us
  int timed = 0;
  for (int i = 1; i <= 64; ++i) {
    partner.be_sent(4096);
    const bool is_timed = partner.body<Buffered>().timing > 0;
    EXPECT_EQ(is_timed, i % 16 == 0) << i;
    timed += is_timed ? 1 : 0;
    partner.be_sent(200);
    EXPECT_EQ(partner.body<Buffered>().timing, 0) << "too short to matter";
  }
  EXPECT_EQ(timed, 4);
}

TEST(ShmWays, ASenderCopiesAsItIsAsked) {
  Partner partner;
  partner.send(100, Way::stream, 0);  // so that it knows us
  for (const Take take : {Take::past, Take::stream}) {
    partner.ask(4096, take);
    partner.be_sent(4096);
    EXPECT_EQ(partner.way(), take == Take::past ? Way::past : Way::stream);
    EXPECT_EQ(std::memcmp(partner.payload(), partner.source().data(), 4096), 0);
    partner.be_sent(2000);
    EXPECT_EQ(partner.way(), Way::stream) << "which nobody asked for";
  }
}

TEST(ShmWays, AReceiverAsksForWhatBothCopySooner) {
  constexpr std::int64_t kSlow = 1'000'000'000;
  for (int i = 0; i < 16; ++i) {  // and how long the receiver copies does not decide by chance
    const bool is_past_quick = i % 2 == 0;
    Partner partner;
    partner.send(4096, Way::stream, 0);
    EXPECT_EQ(partner.asked(4096), Take::stream) << "not timed";
    partner.send(4096, Way::stream, is_past_quick ? kSlow : 1);
    EXPECT_EQ(partner.asked(4096), Take::past) << "to be tried";
    partner.send(4096, Way::past, is_past_quick ? 1 : kSlow);
    EXPECT_NE(partner.asked(4096), is_past_quick ? Take::past : Take::stream) << "once more";
    partner.send(4096, Way::stream, is_past_quick ? kSlow : 1);
    EXPECT_EQ(partner.asked(4096), is_past_quick ? Take::past : Take::stream);
    EXPECT_EQ(partner.asked(2000), Take::stream) << "another kind";
  }
}

TEST(ShmWays, TimesThatMakeNoSenseDoNoHarm) {
  Partner partner;
  for (const std::int64_t timing : {std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}})
    for (const std::size_t bytes : {4096, 20000}) partner.send(bytes, Way::stream, timing);
}

}  // namespace
}  // namespace tutti::shm
