// Whether two cores share a cache, and how messages are copied then.
#include "backends/shm/copy_tuner.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "pair.hpp"

namespace tutti::shm {
namespace {

using namespace std::chrono_literals;
using Copy = CopyTuner::Copy;

constexpr Duration kNear = 250ns, kFar = 1200ns;  // for 8 KiB
constexpr std::uint64_t kCopied = 8192;

void copied(CopyTuner& copy_tuner, int times, Duration time) {
  for (int i = 0; i < times; ++i) copy_tuner.add_time(kCopied, time);
}

/// @return how many of 640 messages of this size are copied in this mode.
int count(CopyTuner& copy_tuner, Copy copy, std::uint64_t bytes = kCopied) {
  int count = 0;
  for (int i = 0; i < 640; ++i) count += copy_tuner.choose(bytes) == copy ? 1 : 0;
  return count;
}

TEST(CopyTuner, IsFarWhereCopiesTakeLong) {
  CopyTuner copy_tuner;
  EXPECT_FALSE(copy_tuner.is_far()) << "nothing is known";
  copied(copy_tuner, 2, kFar);
  EXPECT_FALSE(copy_tuner.is_far()) << "chance";
  copied(copy_tuner, 1, kFar);
  EXPECT_TRUE(copy_tuner.is_far());
}

TEST(CopyTuner, FollowsAMachineThatChanges) {
  CopyTuner copy_tuner;
  for (int i = 0; i < 3; ++i) {
    copied(copy_tuner, 100, kFar);
    EXPECT_TRUE(copy_tuner.is_far());
    copied(copy_tuner, 100, kNear);
    EXPECT_FALSE(copy_tuner.is_far());
  }
}

TEST(CopyTuner, IsNotChangedByADelay) {
  CopyTuner copy_tuner;
  copied(copy_tuner, 10, kNear);
  copied(copy_tuner, 2, 100ms);  // it did not run meanwhile
  copied(copy_tuner, 1, kNear);
  copied(copy_tuner, 2, 100ms);
  EXPECT_FALSE(copy_tuner.is_far());
}

TEST(CopyTuner, DecidesHowToCopy) {
  CopyTuner copy_tuner;
  EXPECT_EQ(count(copy_tuner, Copy::timed), 640 / 16);
  EXPECT_EQ(count(copy_tuner, Copy::past), 0);
  copied(copy_tuner, 3, kFar);
  EXPECT_EQ(count(copy_tuner, Copy::timed), 640 / 64);
  EXPECT_EQ(count(copy_tuner, Copy::plain), 0);
  EXPECT_EQ(count(copy_tuner, Copy::past, 512), 640) << "too short to be timed";
  EXPECT_EQ(count(copy_tuner, Copy::plain, 511), 640) << "too short to matter";
}

// Every core, and every way of copying, gives equal bytes.
TEST(ShmDistance, WhatIsSentIsWhatWasThere) {
  Host host{2};
  const auto sender = host.transport(0);
  const auto receiver = host.transport(1);
  std::vector<std::byte> into(8192);
  for (std::uint32_t i = 0; i < 200; ++i)
    for (const std::size_t bytes : {300, 600, 4096, 8192}) {
      std::vector<std::byte> sent = message_of(i, bytes);
      const Piece from{sent.data(), bytes};
      const Piece to{into.data(), bytes};
      post(*sender, Transfer::Kind::send, {&from, 1});
      post(*receiver, Transfer::Kind::recv, {&to, 1});
      ASSERT_EQ(completed(*sender, 2) + completed(*receiver, 2), 2u);
      EXPECT_EQ(std::memcmp(into.data(), sent.data(), bytes), 0);
    }
}

}  // namespace
}  // namespace tutti::shm
