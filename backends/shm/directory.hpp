/// @file
/// What lies where in a segment: a table of communicators, and per communicator the roads to the
/// other ranks. Written by the segment's owner alone, but for what Entry says.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "ring.hpp"
#include "segment.hpp"

namespace tutti::shm {

/// Communicators that a process may make in its life of one world. The table has addresses for all
/// and memory for those that were made.
inline constexpr std::uint32_t kEntries = 1u << 20;

/// A communicator in the table. Entries are never used again, so that "not made yet" and "gone" are
/// different things.
struct Entry {
  enum State : std::uint32_t {
    open = 1,
    closed = 2,  ///< The owner sends nothing more.
    failed = 3   ///< Nor may its pieces be read or written any more.
  };
  std::atomic<std::uint64_t> communicator;  ///< Its id, never zero; written last.
  std::atomic<std::uint64_t> block;         ///< Offset of its Block.
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> asleep;  ///< Whether its thread wants to be woken; it waits here, and
                                      ///< who wakes it clears this.
};

/// The front of every segment, at its offset 0.
struct Front {
  static constexpr std::uint64_t kMagic = 0x3174757474697368;  // "tuttish1", as an integer
  std::uint64_t magic;
  std::uint64_t address;  ///< Of this front in its owner's process, and
  std::uint64_t nonce;    ///< a random number: who reads it there reads the right process.
  Entry entries[kEntries];
};

/// How large roads are; the same for all roads of a block.
struct Sizes {
  std::uint32_t slots;
  std::uint32_t bytes;
};
/// @param ranks of one communicator on this host. @return sizes that keep a rank's roads to all of
/// them in a few MiB.
[[nodiscard]] constexpr Sizes sizes_for(std::size_t ranks) noexcept {
  if (ranks <= 4) return {256, 512 << 10};
  if (ranks <= 8) return {256, 256 << 10};
  if (ranks <= 32) return {128, 64 << 10};
  return {64, 32 << 10};
}

/// @param ranks of one communicator on this host. @return the longest message that its sender
/// copies and forgets, where ranks outnumber cores.
[[nodiscard]] constexpr std::size_t longest_buffered(std::size_t ranks) noexcept {
  return most_at_once(sizes_for(ranks).bytes);
}

/// The front of what a rank keeps for one communicator; the offsets of its roads follow, one per
/// member.
struct Block {
  Sizes sizes;
  std::uint32_t members;
};

/// @param members of the communicator. @param neighbours how many of them share the host.
/// @return bytes of a block.
[[nodiscard]] std::size_t block_bytes(std::size_t members, std::size_t neighbours) noexcept;
/// Writes a fresh block. @param base of the segment. @param offset of the block, zeroed memory.
/// @param has_road per member, whether there is a road to it. @param neighbours how many have.
void write_block(std::byte* base, std::uint64_t offset, std::span<const bool> has_road,
                 std::size_t neighbours) noexcept;

/// Finds one end of the road from the block's owner to a member: slots and bytes to read or write.
/// `consumed` of it stays null: it lies in the other rank's block.
/// @param mapping of the owner's segment. @param block its offset. @param member index of the other
/// rank. @return the road. Throws Error{transport} if what is there makes no sense.
[[nodiscard]] Road road_of(const Mapping& mapping, std::uint64_t block, std::size_t member);
/// @param mapping of the consumer's segment. @param block its offset. @param member index of the
/// rank whose messages are consumed. @return where it says so. Throws as road_of.
[[nodiscard]] Consumed* consumed_of(const Mapping& mapping, std::uint64_t block,
                                    std::size_t member);

/// Addresses of a segment: more than any host has memory for its ranks.
inline constexpr std::size_t kSegmentBytes = std::size_t{256} << 30;
/// @param size as Segment's. @return a segment with an empty front.
[[nodiscard]] std::shared_ptr<Segment> make_segment(std::size_t size = kSegmentBytes);
/// @param mapping of a segment. @return its front. Throws Error{transport} if it has none.
[[nodiscard]] Front& front_of(const Mapping& mapping);
/// Tries whether the system lets us read the memory of a segment's owner: rules for that differ
/// between hosts and containers. @param front of the segment. @param process of the owner, or -1.
/// @return whether it does.
[[nodiscard]] bool can_read(const Front& front, int process) noexcept;
/// @param front of a segment. @param communicator id. @return its entry, or null.
[[nodiscard]] Entry* find_entry(Front& front, std::uint64_t communicator) noexcept;
/// @param front of the own segment. @param communicator id. @param block offset of its block.
/// @return the new entry. Throws Error{transport} when the table is full.
Entry& add_entry(Front& front, std::uint64_t communicator, std::uint64_t block);

}  // namespace tutti::shm
