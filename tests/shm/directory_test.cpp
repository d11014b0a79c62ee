// What lies where in a segment, and how long.
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

TEST(ShmDirectory, EntriesAreFoundWhereTheirPlacesMeet) {
  const auto segment = make_segment(kSegmentSize);
  Front& front = front_of(segment->mapping());
  const std::vector<std::uint64_t> ids{5,
                                       6,
                                       5 + kEntries,
                                       5 + 2 * std::uint64_t{kEntries},
                                       kEntries - 1,
                                       2 * std::uint64_t{kEntries} - 1,
                                       ~std::uint64_t{0}};
  for (const std::uint64_t id : ids) {
    EXPECT_EQ(find_entry(front, id), nullptr) << id;
    const Entry& entry = add_entry(front, id, id * 64);
    EXPECT_EQ(find_entry(front, id), &entry) << id;
    EXPECT_EQ(entry.state.load(), Entry::open);
  }
  for (const std::uint64_t id : ids) {
    ASSERT_NE(find_entry(front, id), nullptr) << id;
    EXPECT_EQ(find_entry(front, id)->block.load(), id * 64);
    EXPECT_THROW(add_entry(front, id, 64), Error) << id;
  }
  EXPECT_EQ(find_entry(front, 7), nullptr);
}

TEST(ShmDirectory, AFullTableIsAnError) {
  const auto segment = make_segment(kSegmentSize);
  Front& front = front_of(segment->mapping());
  for (std::uint64_t id = 1; id <= kEntries; ++id) add_entry(front, id, 64);
  EXPECT_EQ(find_entry(front, kEntries)->communicator.load(), kEntries);
  EXPECT_EQ(find_entry(front, kEntries + 1), nullptr);
  try {
    add_entry(front, kEntries + 1, 64);
    ADD_FAILURE() << "one more than there is room for";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport) << error.what();
  }
}

TEST(ShmDirectory, TellsWhoseMemoryMayBeRead) {
  const auto segment = make_segment(kSegmentSize);
  Front& front = front_of(segment->mapping());
  EXPECT_TRUE(can_read(front, getpid()));
  EXPECT_FALSE(can_read(front, -1)) << "nobody said whose it is";
  EXPECT_FALSE(can_read(front, getppid())) << "another process";
  const Mapping theirs{segment->descriptor()};
  ++front.nonce;
  EXPECT_TRUE(can_read(front_of(theirs), getpid())) << "both see the same";
  front.address += sizeof front.magic;
  EXPECT_FALSE(can_read(front, getpid())) << "something else lies there";
}

TEST(ShmDirectory, RoadsOfABlockDoNotMeet) {
  for (const std::size_t members : {1, 8, 9, 32, 33}) {
    const auto segment = make_segment(kSegmentSize);
    const Mapping& mapping = segment->mapping();
    const auto has_road = std::make_unique<bool[]>(members);
    std::size_t neighbours = 0;
    for (std::size_t i = 0; i < members; ++i)
      neighbours += (has_road[i] = members == 1 || i % 5 != 1) ? 1 : 0;
    const std::size_t bytes = block_bytes(members, neighbours);
    const std::uint64_t block = segment->allocate(bytes);
    write_block(mapping.base(), block, {has_road.get(), members}, neighbours);
    const std::byte* end = mapping.base() + block + sizeof(Block) + members * sizeof block;
    for (std::size_t i = 0; i < members; ++i) {
      if (!has_road[i]) {
        EXPECT_THROW(static_cast<void>(road_of(mapping, block, i)), Error);
        continue;
      }
      const Road road = road_of(mapping, block, i);
      EXPECT_EQ(road.slot_count, sizes_for(neighbours).slots);
      EXPECT_EQ(road.byte_count, sizes_for(neighbours).bytes);
      const auto* const consumed =
          reinterpret_cast<const std::byte*>(consumed_of(mapping, block, i));
      const auto* const slots = reinterpret_cast<const std::byte*>(road.slots);
      EXPECT_GE(consumed, end);
      EXPECT_GE(slots, consumed + sizeof(Consumed));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slots) % 64, 0u);
      EXPECT_GE(road.bytes, slots + road.slot_count * sizeof(Slot));
      end = road.bytes + road.byte_count;
    }
    EXPECT_EQ(end, mapping.base() + block + bytes);
    EXPECT_THROW(static_cast<void>(road_of(mapping, block, members)), Error);
  }
}

TEST(ShmDirectory, ABlockThatMakesNoSenseIsRefused) {
  const auto segment = make_segment(kSegmentSize);
  const Mapping& mapping = segment->mapping();
  const std::array<bool, 2> has_road{true, true};
  const std::uint64_t block = segment->allocate(block_bytes(2, 2));
  const auto written = [&] { write_block(mapping.base(), block, has_road, 2); };
  const auto refused = [&](std::uint64_t offset) {
    EXPECT_THROW(static_cast<void>(road_of(mapping, offset, 1)), Error);
    EXPECT_THROW(static_cast<void>(consumed_of(mapping, offset, 1)), Error);
  };
  written();
  static_cast<void>(road_of(mapping, block, 1));
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
  changed(offsetof(Block, sizes) + offsetof(Sizes, bytes), std::uint32_t{1} << 31);
  changed(offsetof(Block, members), std::uint32_t{1});
  changed(offsetof(Block, members), ~std::uint32_t{0});
  const std::size_t road = sizeof(Block) + sizeof(std::uint64_t);
  changed(road, std::uint64_t{0});
  changed(road, block + 32);
  changed(road, std::uint64_t{kSegmentSize} - 64);
  changed(road, std::uint64_t{kSegmentSize} + 64);
}

TEST(ShmDomain, KnowsWhoSharesTheHost) {
  Host host{3};
  EXPECT_TRUE(host.domain(1).reaches(0));
  EXPECT_TRUE(host.domain(1).reaches(1));
  EXPECT_FALSE(host.domain(1).reaches(3));
  EXPECT_EQ(host.domain(1).find(2)->rank, 2);
  EXPECT_EQ(host.domain(1).own().rank, 1);
}

TEST(ShmDomain, FreesABlockOnceEveryMemberHasClosedIt) {
  Host host{3};
  const std::array<Rank, 4> members{0, 2, 1, 9};  // the last one on another host
  const std::size_t empty = host.segment(0).used();
  std::vector<std::uint64_t> blocks;
  for (Rank rank = 0; rank < 3; ++rank) blocks.push_back(host.domain(rank).open(7, members));
  EXPECT_EQ(host.segment(0).used(), empty + (block_bytes(4, 3) + 4095) / 4096 * 4096);
  const std::array<Rank, 1> alone{0};
  const auto used_later = [&] {  // freed when another one is made or closed
    static std::uint64_t others = 100;
    host.domain(0).open(++others, alone);
    host.domain(0).close(others, alone);
    return host.segment(0).used();
  };
  host.domain(0).close(7, members);
  EXPECT_GT(used_later(), empty);
  host.domain(1).close(7, members);
  EXPECT_GT(used_later(), empty);
  host.domain(2).close(7, members);
  EXPECT_EQ(host.segment(2).used(), empty);
  EXPECT_EQ(used_later(), empty);
  host.domain(0).close(7777, members);  // never made: nothing happens
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
  const auto transport = host.domain(0).transport(1, members, host.alarm);
  EXPECT_EQ(transport->self(), 2);
  EXPECT_EQ(transport->size(), 3);
  for (const Rank peer : {-1, 0, 3}) {
    const Transfer transfer{.kind = Transfer::Kind::send, .peer = peer};
    const auto fresh =
        host.domain(0).transport(static_cast<std::uint64_t>(peer + 10), members, host.alarm);
    EXPECT_THROW(fresh->post({&transfer, 1}), Error) << peer;
  }
}

TEST(ShmTransport, SpinsLessWhereRanksOutnumberCores) {
  Host host{2};
  Host crowded{2, -1, {.oversubscribed = true}};
  EXPECT_LT(crowded.transport(0)->capabilities().idle_spins,
            host.transport(0)->capabilities().idle_spins);
}

}  // namespace
}  // namespace tutti::shm
