// Both ends of a queue: rings that go round, and words that are looked at no more than needed.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>

#include "backends/shm/ring.hpp"

namespace tutti::shm {
namespace {

constexpr std::uint32_t kSlots = 4;
constexpr std::uint32_t kQueueBytes = 1024;

/// A queue in this process, with both its ends.
struct Both {
  Both() { out.attach(&consumed); }
  std::array<Slot, kSlots> slots{};
  std::array<std::byte, kQueueBytes> bytes{};
  Consumed consumed{};
  QueueMemory queue{slots.data(), bytes.data(), &consumed, kSlots, kQueueBytes};
  SendEnd out{queue};
  ReceiveEnd in{queue};
};

void send(Both& both, std::uint32_t tag) {
  ASSERT_TRUE(both.out.has_slot());
  both.out.slot().tag = tag;
  both.out.send();
}

TEST(ShmQueue, SlotsComeInOrderRoundAndRound) {
  Both both;
  EXPECT_FALSE(ReceiveEnd{}.attached());
  EXPECT_TRUE(both.in.attached());
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  for (std::uint32_t burst = 1; burst < 60; ++burst) {
    const std::uint32_t most = burst % kSlots + 1;
    for (std::uint32_t i = 0; i < most; ++i) send(both, sent++);
    EXPECT_EQ(both.out.has_slot(), most < kSlots);
    for (; both.in.has_slot(); both.in.consume()) EXPECT_EQ(both.in.slot().tag, received++);
    EXPECT_EQ(received, sent);
  }
}

TEST(ShmQueue, WithoutAReceiverOnlyWhatHasRoomIsSent) {
  Both both;
  both.out = SendEnd{both.queue};
  for (std::uint32_t i = 0; i < kSlots; ++i) send(both, i);
  EXPECT_FALSE(both.out.has_slot());
  Extent extent{};
  ASSERT_TRUE(both.out.find_room(kQueueBytes, extent));
  both.out.commit_room(extent);
  EXPECT_FALSE(both.out.find_room(1, extent));
  both.out.count_payload(10);
  EXPECT_EQ(both.out.unreceived(true), 10u);
}

TEST(ShmQueue, BytesLieInOnePieceOnALineOfTheirOwn) {
  Both both;
  EXPECT_EQ(both.out.byte_limit(), kQueueBytes / 4);
  Extent first{};
  ASSERT_TRUE(both.out.find_room(100, first));
  EXPECT_EQ(first.offset, 0u);
  EXPECT_EQ(first.bytes, 100u);
  EXPECT_EQ(first.end, 128u);
  Extent same{};
  ASSERT_TRUE(both.out.find_room(100, same));
  EXPECT_EQ(same.offset, 0u) << "it was not taken";
  both.out.commit_room(first);
  EXPECT_EQ(both.out.at(first), both.bytes.data());
  Extent second{};
  ASSERT_TRUE(both.out.find_room(kQueueBytes - 128, second));  // up to the corner
  EXPECT_EQ(second.offset, 128u);
  EXPECT_EQ(second.end, kQueueBytes);
  ASSERT_FALSE(
      both.out.find_room(kQueueBytes - 127, second));  // around it, where the first one lies
  both.in.consume(first);
  ASSERT_FALSE(both.out.find_room(kQueueBytes - 127, second));
  ASSERT_TRUE(both.out.find_room(kQueueBytes - 128, second));
  both.out.commit_room(second);
  Extent third{};
  ASSERT_TRUE(both.out.find_room(128, third));
  EXPECT_EQ(third.offset, 0u);
  EXPECT_EQ(both.out.at(third), both.bytes.data());
  EXPECT_FALSE(both.out.find_room(129, third));
  both.in.consume(second);
  EXPECT_TRUE(both.out.find_room(129, third));
}

TEST(ShmQueue, BytesBeyondTheCornerStartAtTheFront) {
  Both both;
  Extent extent{};
  ASSERT_TRUE(both.out.find_room(900, extent));
  both.out.commit_room(extent);
  both.in.consume(extent);
  ASSERT_TRUE(both.out.find_room(65, extent));
  EXPECT_EQ(extent.offset, 0u);
  EXPECT_EQ(extent.end, kQueueBytes + 128u);
  ASSERT_TRUE(both.out.find_room(64, extent));
  EXPECT_EQ(extent.offset, 960u);
  EXPECT_EQ(extent.end, kQueueBytes);
}

TEST(ShmQueue, RefusesBytesOutsideTheRing) {
  Both both;
  EXPECT_EQ(both.in.at({.end = 0, .offset = kQueueBytes, .bytes = 0}),
            both.bytes.data() + kQueueBytes);
  EXPECT_EQ(both.in.at({.end = 0, .offset = 8, .bytes = kQueueBytes - 8}), both.bytes.data() + 8);
  for (const Extent& extent : {Extent{0, kQueueBytes + 1, 0}, Extent{0, 8, kQueueBytes - 7},
                               Extent{0, ~0u, 8}, Extent{0, 8, ~0u}})
    EXPECT_THROW(static_cast<void>(both.in.at(extent)), Error);
}

TEST(ShmQueue, UnmatchedBytesAreLookedUpOnRequest) {
  Both both;
  both.out.count_payload(100);
  both.out.count_payload(50);
  EXPECT_EQ(both.out.unreceived(false), 150u);
  both.in.count_match(100);
  EXPECT_EQ(both.out.unreceived(false), 150u);
  EXPECT_EQ(both.out.unreceived(true), 50u);
  EXPECT_EQ(both.out.unreceived(false), 50u);
  both.in.count_match(60);  // more than was sent: nonsense, and no debt
  EXPECT_EQ(both.out.unreceived(true), 0u);
}

}  // namespace
}  // namespace tutti::shm
