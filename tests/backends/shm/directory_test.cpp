// The layout of a segment, and its lifetime.
#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "pair.hpp"

namespace tutti::shm {
namespace {

TEST(ShmDirectory, OnlyASegmentOfOursHasAFront) {
  const auto ours = make_segment(kSegmentSize);
  EXPECT_EQ(&front_of(ours->mapping()), static_cast<void*>(ours->mapping().base()));
  const Segment other{4096, kSegmentSize};
  EXPECT_THROW(static_cast<void>(front_of(other.mapping())), Error);
  EXPECT_THROW(static_cast<void>(front_of(Mapping{})), Error);
}

TEST(ShmDirectory, EntriesAreFoundUntilTheyAreRemoved) {
  const auto segment = make_segment(kSegmentSize);
  Front& front = front_of(segment->mapping());
  constexpr std::uint64_t kMany = 20000;  // so that there are three levels and more
  for (std::uint64_t id = 1; id <= kMany; ++id) {
    ASSERT_EQ(find_entry(front, id), nullptr) << id;
    const Entry& entry = add_entry(front, id, id * 64);
    ASSERT_EQ(find_entry(front, id), &entry) << id;
    ASSERT_EQ(entry.state.load(), Entry::open);
  }
  EXPECT_THROW(add_entry(front, 7, 64), Error);
  for (std::uint64_t id = 1; id <= kMany; id += 2) remove_entry(*find_entry(front, id));
  for (std::uint64_t id = 1; id <= kMany; ++id) {
    const Entry* const entry = find_entry(front, id);
    ASSERT_EQ(entry == nullptr, id % 2 == 1) << id;
    if (entry != nullptr) {
      ASSERT_EQ(entry->block.load(), id * 64);
    }
  }
}

TEST(ShmDirectory, PlacesAreUsedAgain) {
  const auto segment = make_segment(kSegmentSize);
  Front& front = front_of(segment->mapping());
  for (std::uint64_t id = 1; id <= 1000000; ++id) remove_entry(add_entry(front, id, 64));
  EXPECT_EQ(front.levels.load(), 1u);
}

TEST(ShmDirectory, AFullTableIsAnError) {
  const auto segment = make_segment(kSegmentSize);
  Front& front = front_of(segment->mapping());
  std::uint64_t id = 0;
  try {
    while (id <= kEntries) add_entry(front, ++id, 64);
    ADD_FAILURE() << "more than there is room for";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport) << error.what();
  }
  EXPECT_GT(id, kEntries / 2);
  EXPECT_EQ(find_entry(front, id), nullptr);
  EXPECT_EQ(find_entry(front, id - 1)->communicator.load(), id - 1);
}

TEST(ShmDirectory, WhatIsSharedWithMembersDoesNotMeet) {
  for (const std::size_t members : {1, 8, 9, 32, 33}) {
    const auto segment = make_segment(kSegmentSize);
    const Mapping& mapping = segment->mapping();
    const auto has_queue = std::make_unique<bool[]>(members);
    std::size_t neighbours = 0;
    for (std::size_t i = 0; i < members; ++i)
      neighbours += (has_queue[i] = members == 1 || i % 5 != 1) ? 1 : 0;
    const std::size_t bytes = block_bytes(members, neighbours);
    const std::uint64_t block = segment->allocate(bytes);
    write_block(mapping.base(), block, {has_queue.get(), members}, neighbours);
    const std::byte* end = mapping.base() + block + sizeof(Block) + members * sizeof(Pair);
    for (std::size_t i = 0; i < members; ++i) {
      if (!has_queue[i]) {
        EXPECT_THROW(static_cast<void>(queue_of(mapping, block, i)), Error);
        continue;
      }
      const QueueMemory queue = queue_of(mapping, block, i);
      EXPECT_EQ(queue.slots, nullptr);
      EXPECT_EQ(queue.bytes, nullptr);
      EXPECT_EQ(queue.slot_count, sizes_for(neighbours).slots);
      EXPECT_EQ(queue.byte_count, sizes_for(neighbours).bytes);
      const auto* const consumed =
          reinterpret_cast<const std::byte*>(consumed_of(mapping, block, i));
      EXPECT_GE(consumed, end);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(consumed) % 64, 0u);
      end = consumed + sizeof(Consumed);
    }
    EXPECT_EQ(end, mapping.base() + block + bytes);
    EXPECT_THROW(static_cast<void>(queue_of(mapping, block, members)), Error);
  }
}

TEST(ShmDirectory, AQueueHasWhatItWasGiven) {
  const auto segment = make_segment(kSegmentSize);
  const Mapping& mapping = segment->mapping();
  const std::array<bool, 2> has_queue{true, true};
  const std::uint64_t block = segment->allocate(block_bytes(2, 2));
  write_block(mapping.base(), block, has_queue, 2);
  const QueueMemory before = queue_of(mapping, block, 1);
  EXPECT_THROW(static_cast<void>(bytes_of(before)), Error);
  const std::uint64_t slots = segment->allocate(bytes_of(sizes_for(2), QueuePart::slots));
  const std::uint64_t bytes = segment->allocate(bytes_of(sizes_for(2), QueuePart::bytes));
  set_queue_part(mapping, block, 1, QueuePart::slots, slots);
  EXPECT_EQ(static_cast<void*>(queue_of(mapping, block, 1).slots), mapping.base() + slots);
  EXPECT_EQ(queue_of(mapping, block, 1).bytes, nullptr);
  set_queue_part(mapping, block, 1, QueuePart::bytes, bytes);
  EXPECT_EQ(queue_of(mapping, block, 1).bytes, mapping.base() + bytes);
  EXPECT_EQ(bytes_of(before), mapping.base() + bytes) << "found later";
  EXPECT_EQ(queue_of(mapping, block, 0).slots, nullptr);
}

TEST(ShmDirectory, ABlockThatMakesNoSenseIsRefused) {
  const auto segment = make_segment(kSegmentSize);
  const Mapping& mapping = segment->mapping();
  const std::array<bool, 2> has_queue{true, true};
  const std::uint64_t block = segment->allocate(block_bytes(2, 2));
  const auto written = [&] { write_block(mapping.base(), block, has_queue, 2); };
  const auto refused = [&](std::uint64_t offset) {
    EXPECT_THROW(static_cast<void>(queue_of(mapping, offset, 1)), Error);
    EXPECT_THROW(static_cast<void>(consumed_of(mapping, offset, 1)), Error);
  };
  written();
  static_cast<void>(queue_of(mapping, block, 1));
  refused(kSegmentSize);
  refused(kSegmentSize - sizeof(Block) + 1);
  refused(~std::uint64_t{0});
  const auto changed = [&](std::size_t at, auto word) {
    written();
    std::memcpy(mapping.base() + block + at, &word, sizeof word);
    refused(block);
  };
  changed(offsetof(Block, sizes) + offsetof(Sizes, slots), std::uint32_t{255});
  changed(offsetof(Block, sizes) + offsetof(Sizes, bytes), std::uint32_t{0});
  changed(offsetof(Block, members), std::uint32_t{1});
  changed(offsetof(Block, members), ~std::uint32_t{0});
  constexpr std::size_t kPairs =
      sizeof(Block) + sizeof(std::uint64_t);  // behind the window's offset
  changed(kPairs + sizeof(Pair) + offsetof(Pair, consumed), std::uint64_t{0});
  const auto misplaced = [&](std::size_t member, auto find) {
    for (const std::uint64_t offset :
         {block + 32, std::uint64_t{kSegmentSize}, std::uint64_t{kSegmentSize} + 64}) {
      written();
      const std::size_t at = kPairs + sizeof(Pair) + member;
      std::memcpy(mapping.base() + block + at, &offset, sizeof offset);
      EXPECT_THROW(find(), Error) << offset;
    }
  };
  misplaced(offsetof(Pair, consumed), [&] { (void)consumed_of(mapping, block, 1); });
  misplaced(offsetof(Pair, slots), [&] { (void)queue_of(mapping, block, 1); });
  written();
  const std::uint32_t huge = std::uint32_t{1} << 31;
  std::memcpy(mapping.base() + block + offsetof(Block, sizes) + offsetof(Sizes, bytes), &huge, 4);
  EXPECT_THROW(static_cast<void>(queue_of(mapping, block, 1)), Error);
  misplaced(offsetof(Pair, bytes), [&] { (void)queue_of(mapping, block, 1); });
}

TEST(ShmDomain, KnowsWhoSharesTheHost) {
  Host host{3};
  EXPECT_TRUE(host.domain(1).reaches(0));
  EXPECT_TRUE(host.domain(1).reaches(1));
  EXPECT_FALSE(host.domain(1).reaches(3));
  EXPECT_EQ(host.domain(1).find(2)->rank, 2);
  EXPECT_EQ(host.domain(1).own().rank, 1);
}

TEST(ShmDomain, FreesMemoryOnceEveryMemberHasClosed) {
  Host host{3};
  const std::array<Rank, 4> members{0, 2, 1, 9};  // the last one on another host
  const std::size_t empty = host.segment(0).used();
  for (Rank rank = 0; rank < 3; ++rank) host.domain(rank).open(7, members);
  const std::size_t block = (block_bytes(4, 3) + 4095) / 4096 * 4096;
  EXPECT_EQ(host.segment(0).used(), empty + block);
  static_cast<void>(host.domain(0).extend(7, 16384));
  EXPECT_EQ(host.segment(0).used(), empty + block + 16384);
  const auto used = [&](Rank rank) {
    host.domain(rank).free_closed();
    return host.segment(rank).used();
  };
  host.domain(0).close(7);
  EXPECT_GT(used(0), empty);
  host.domain(1).close(7);
  EXPECT_GT(used(0), empty);
  EXPECT_GT(used(1), empty);
  host.domain(2).close(7);
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(used(rank), empty);
  const auto has_entry = [&](Rank rank) {
    host.domain(rank).free_closed();
    return find_entry(front_of(host.segment(rank).mapping()), 7) != nullptr;
  };
  has_entry(0), has_entry(1);  // each has to see that the others have freed it
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_FALSE(has_entry(rank)) << rank;
  host.domain(0).close(7777);  // never made: nothing happens
}

TEST(ShmTransport, HoldsLittleUntilMessagesAreLarge) {
  Host host{4};
  const std::array<Rank, 4> members{0, 1, 2, 3};
  const std::size_t empty = host.segment(0).used();
  std::vector<std::unique_ptr<Transport>> ranks;
  for (Rank rank = 0; rank < 4; ++rank)
    ranks.push_back(host.domain(rank).transport(1, members, host.failure_signal));
  EXPECT_LE(host.segment(0).used(), empty + 4096);
  std::vector<std::byte> bytes(100);
  const auto exchange = [&](std::size_t count) {
    const Piece piece{bytes.data(), count};
    for (Rank rank = 1; rank < 4; ++rank) {
      const Transfer send{.kind = Transfer::Kind::send, .peer = rank, .pieces = {&piece, 1}};
      const Transfer recv{.kind = Transfer::Kind::recv, .peer = 0, .pieces = {&piece, 1}};
      ranks[static_cast<std::size_t>(rank)]->post({&recv, 1});
      ranks[0]->post({&send, 1});
      std::size_t done = 0;
      for (int i = 0; i < 100; ++i)
        done += completed(*ranks[0], 1) + completed(*ranks[static_cast<std::size_t>(rank)], 1);
      EXPECT_EQ(done, 2u);
    }
  };
  exchange(8);
  EXPECT_LE(host.segment(0).used(), empty + (64 << 10));
  exchange(100);
  EXPECT_GT(host.segment(0).used(), empty + (1 << 20)) << "three rings of bytes";
  ranks.clear();
  host.domain(0).free_closed();
  EXPECT_EQ(host.segment(0).used(), empty);
}

TEST(ShmDomain, ACommunicatorThatCannotBeMadeTakesNoMemory) {
  Host host{2};
  const std::array<Rank, 2> members{0, 1};
  host.domain(0).open(7, members);
  const std::size_t used = host.segment(0).used();
  EXPECT_THROW(host.domain(0).open(7, members), Error);
  EXPECT_EQ(host.segment(0).used(), used);
}

TEST(ShmTransport, RefusesRanksItCannotReach) {
  Host host{2};
  const std::array<Rank, 3> members{5, 1, 0};
  const auto transport = host.domain(0).transport(1, members, host.failure_signal);
  EXPECT_EQ(transport->self(), 2);
  EXPECT_EQ(transport->size(), 3);
  for (const Rank peer : {-1, 0, 3}) {
    const Transfer transfer{.kind = Transfer::Kind::send, .peer = peer};
    const auto fresh = host.domain(0).transport(static_cast<std::uint64_t>(peer + 10), members,
                                                host.failure_signal);
    EXPECT_THROW(fresh->post({&transfer, 1}), Error) << peer;
  }
}

TEST(ShmTransport, SpinsLessWhereRanksOutnumberCores) {
  Host host{2};
  Host crowded{2, {.oversubscribed = true}};
  EXPECT_LT(crowded.transport(0)->capabilities().idle_spins,
            host.transport(0)->capabilities().idle_spins);
}

}  // namespace
}  // namespace tutti::shm
