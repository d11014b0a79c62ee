// Which way long messages take, as the receiver has found them to be quick.
#include <gtest/gtest.h>

#include <chrono>

#include "backends/shm/ways.hpp"

namespace tutti::shm {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMany = std::uint64_t{1} << 18;

/// A machine on which each way takes its time. @return how many of the messages streamed.
int streamed(Ways& ways, int messages, Duration by_streaming, Duration by_reading) {
  int count = 0;
  for (int i = 0; i < messages; ++i) {
    const bool streams = ways.streams(kMany, {}, true);
    ways.took(kMany, {}, streams, streams ? by_streaming : by_reading);
    count += streams ? 1 : 0;
  }
  return count;
}

TEST(Ways, AreAsUsualAtFirst) {
  for (const bool usual : {true, false}) {
    Ways ways;
    EXPECT_EQ(ways.streams(kMany, {}, usual), usual);
    EXPECT_EQ(ways.streams(kMany, {}, usual), usual) << "nothing is known before one has ended";
    ways.took(kMany, {}, usual, 10us);
    EXPECT_EQ(ways.streams(kMany, {}, usual), !usual) << "the other one is tried once";
  }
}

TEST(Ways, AreThoseThatAreQuickerButForTrials) {
  Ways streams;
  EXPECT_EQ(streamed(streams, 640, 10us, 30us), 640 - 1 - 10);
  Ways reads;
  EXPECT_EQ(streamed(reads, 640, 30us, 10us), 1 + 10);
}

TEST(Ways, FollowAMachineThatChanges) {
  Ways ways;
  static_cast<void>(streamed(ways, 100, 10us, 15us));
  static_cast<void>(streamed(ways, 100, 60us, 20us));
  EXPECT_LE(streamed(ways, 128, 60us, 20us), 2) << "trials";
  static_cast<void>(streamed(ways, 100, 10us, 15us));
  EXPECT_GE(streamed(ways, 128, 10us, 15us), 126);
}

TEST(Ways, AreForgivenOneDelay) {
  Ways ways;
  static_cast<void>(streamed(ways, 10, 10us, 30us));
  ways.took(kMany, {}, true, 100us);  // it did not run meanwhile
  EXPECT_TRUE(ways.streams(kMany, {}, true));
}

TEST(Ways, AreComparedBySizeAndByWhatBecomesOfTheBytes) {
  Ways ways;
  static_cast<void>(streamed(ways, 10, 30us, 10us));
  EXPECT_FALSE(ways.streams(kMany + 1000, {}, true));
  EXPECT_TRUE(ways.streams(kMany, {.folds = true}, true));
  EXPECT_TRUE(ways.streams(kMany, {.exchanged = true}, true));
  EXPECT_TRUE(ways.streams(4 * kMany, {}, true));
  EXPECT_TRUE(ways.streams(65536, {}, true));
  EXPECT_TRUE(ways.streams(std::uint64_t{1} << 40, {}, true));
}

TEST(Ways, HaveABitForEachKindOfMessage) {
  std::uint32_t seen = 0;
  for (std::uint64_t bytes = Ways::kLeast; bytes <= std::uint64_t{64} << 20; bytes *= 2)
    for (const bool exchanged : {false, true}) {
      const std::uint32_t bit = Ways::bit_of(bytes, exchanged);
      EXPECT_EQ(bit & (bit - 1), 0u);
      const bool is_last = bytes > std::uint64_t{16} << 20;
      EXPECT_EQ((seen & bit) != 0, is_last) << bytes;
      EXPECT_EQ(Ways::bit_of(2 * bytes - 1, exchanged), bit);
      seen |= bit;
    }
}

}  // namespace
}  // namespace tutti::shm
