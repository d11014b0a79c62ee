// Whether two cores share a cache, and how messages are copied then.
#include "backends/shm/distance.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "partner.hpp"

namespace tutti::shm {
namespace {

using namespace std::chrono_literals;
using Copy = Distance::Copy;

constexpr Duration kNear = 250ns, kFar = 1200ns;  // for 8 KiB
constexpr std::uint64_t kCopied = 8192;

void copied(Distance& distance, int times, Duration time) {
  for (int i = 0; i < times; ++i) distance.took(kCopied, time);
}

/// @return how many of 640 messages of so many bytes are copied so.
int count(Distance& distance, Copy copy, std::uint64_t bytes = kCopied) {
  int count = 0;
  for (int i = 0; i < 640; ++i) count += distance.choose(bytes) == copy ? 1 : 0;
  return count;
}

TEST(Distance, IsFarWhereCopiesTakeLong) {
  Distance distance;
  EXPECT_FALSE(distance.is_far()) << "nothing is known";
  copied(distance, 2, kFar);
  EXPECT_FALSE(distance.is_far()) << "chance";
  copied(distance, 1, kFar);
  EXPECT_TRUE(distance.is_far());
}

TEST(Distance, FollowsAMachineThatChanges) {
  Distance distance;
  for (int i = 0; i < 3; ++i) {
    copied(distance, 100, kFar);
    EXPECT_TRUE(distance.is_far());
    copied(distance, 100, kNear);
    EXPECT_FALSE(distance.is_far());
  }
}

TEST(Distance, IsNotChangedByADelay) {
  Distance distance;
  copied(distance, 10, kNear);
  copied(distance, 2, 100ms);  // it did not run meanwhile
  copied(distance, 1, kNear);
  copied(distance, 2, 100ms);
  EXPECT_FALSE(distance.is_far());
}

TEST(Distance, DecidesHowToCopy) {
  Distance distance;
  EXPECT_EQ(count(distance, Copy::timed), 640 / 16);
  EXPECT_EQ(count(distance, Copy::past), 0);
  copied(distance, 3, kFar);
  EXPECT_EQ(count(distance, Copy::timed), 640 / 64);
  EXPECT_EQ(count(distance, Copy::plain), 0);
  EXPECT_EQ(count(distance, Copy::past, 512), 640) << "too short to be timed";
  EXPECT_EQ(count(distance, Copy::plain, 511), 640) << "too short to matter";
}

// Whatever the cores, and however each message was copied.
TEST(ShmDistance, WhatIsSentIsWhatWasThere) {
  Partner partner;
  partner.be_known();
  for (int i = 0; i < 200; ++i)
    for (const std::size_t bytes : {300, 600, 4096, 8192}) {
      partner.be_sent(bytes);
      EXPECT_EQ(std::memcmp(partner.payload(), partner.source().data(), bytes), 0);
    }
}

}  // namespace
}  // namespace tutti::shm
