/// @file
/// The layout of a segment: a table of communicators, and per communicator the queues to the other
/// ranks. The segment's owner alone writes it, but for Entry::asleep.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "ring.hpp"
#include "segment.hpp"

namespace tutti::shm {

/// Entries of the table's levels, as powers of two. A communicator is in the first level that has
/// room near its place, so that few communicators use few pages, and half a million find room.
inline constexpr std::array<std::uint32_t, 5> kLevelBits{7, 10, 13, 16, 19};
/// Entries in all.
inline constexpr std::uint32_t kEntries = [] {
  std::uint32_t entries = 0;
  for (const std::uint32_t bits : kLevelBits) entries += 1u << bits;
  return entries;
}();

/// A communicator in the table.
struct alignas(32) Entry {
  enum State : std::uint32_t {
    open = 1,
    closed = 2,  ///< The owner sends nothing more.
    failed = 3,  ///< Nor may its pieces be read or written any more.
    freed = 4    ///< All have closed it, and its memory is freed. The entry is used again once all
                 ///< have freed theirs: until then an absent entry means "not made yet".
  };
  std::atomic<std::uint64_t> communicator;  ///< Its id, never zero; written last.
  std::atomic<std::uint64_t> block;         ///< Offset of its Block.
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> asleep;  ///< Whether its thread wants to be woken; it waits here, and
                                      ///< who wakes it clears this.
};

/// The front of every segment, at its offset 0.
struct Front {
  static constexpr std::uint64_t kMagic = 0x3274757474697368;  // "tuttish2", as an integer
  std::uint64_t magic;
  std::atomic<std::uint64_t> levels;  ///< Of the table that have ever had an entry.
  Entry entries[kEntries];            ///< The levels, one behind the other.
};

/// The sizes of queues; the same for all queues of a block.
struct Sizes {
  std::uint32_t slots;
  std::uint32_t bytes;
};
/// @param ranks of one communicator on this host. @return sizes that keep a rank's queues to all
/// of them in a few MiB, and the slots to its usual peers in some 32 KiB.
[[nodiscard]] constexpr Sizes sizes_for(std::size_t ranks) noexcept {
  if (ranks <= 2) return {256, 512 << 10};
  if (ranks <= 4) return {128, 512 << 10};
  if (ranks <= 8) return {128, 256 << 10};
  if (ranks <= 32) return {64, 64 << 10};
  return {64, 32 << 10};
}

/// @param ranks of one communicator on this host. @return the longest message that its sender
/// copies and forgets, where ranks outnumber cores.
[[nodiscard]] constexpr std::size_t longest_buffered(std::size_t ranks) noexcept {
  return most_at_once(sizes_for(ranks).bytes);
}

/// @param ranks of one communicator on this host. @return the bytes of a window's piece: the second
/// cache of a core, or less where many ranks have windows. A rank of 2 to 8 has eight times this
/// cache then, one of 64 half of it, and one of 256 a quarter.
[[nodiscard]] std::uint32_t piece_bytes_for(std::size_t ranks) noexcept;

/// The front of what a rank keeps for one communicator. The offset of its window follows, or 0, a
/// Pair per member, and a Consumed per member that shares the host.
struct alignas(8) Block {
  Sizes sizes;
  std::uint32_t piece_bytes;  ///< Of the window.
  std::uint32_t members;
};
/// The memory that the owner of a block shares with one member. Most members of a communicator
/// never send each other messages, or only short ones, so a queue gets memory when it is needed.
struct Pair {
  std::uint64_t consumed;            ///< Offset, or 0: the member does not share the host.
  std::atomic<std::uint64_t> slots;  ///< Offset of the queue's slots, or 0: there are none yet.
  std::atomic<std::uint64_t> bytes;  ///< Offset of its ring of bytes, or 0: there is none yet.
};

/// @param members of the communicator. @param neighbours how many of them share the host.
/// @return bytes of a block.
[[nodiscard]] std::size_t block_bytes(std::size_t members, std::size_t neighbours) noexcept;
/// Writes a fresh block. @param base of the segment. @param offset of the block, zeroed memory.
/// @param has_queue per member, whether there may be a queue to it. @param neighbours how many
/// may.
void write_block(std::byte* base, std::uint64_t offset, std::span<const bool> has_queue,
                 std::size_t neighbours) noexcept;

/// Finds one end of the queue from the block's owner to a member: slots and bytes to read or
/// write, as far as they are there. `consumed` of it stays null: it lies in the other rank's block.
/// @param mapping of the owner's segment. @param block its offset. @param member index of the other
/// rank. @return the queue. Throws Error{transport} if what is there makes no sense.
[[nodiscard]] QueueMemory queue_of(const Mapping& mapping, std::uint64_t block, std::size_t member);
/// The memory of a queue.
enum class QueuePart : std::uint8_t { slots, bytes };
/// @param sizes of the block. @return the bytes it needs.
[[nodiscard]] constexpr std::size_t bytes_of(const Sizes& sizes, QueuePart part) noexcept {
  return part == QueuePart::slots ? sizes.slots * sizeof(Slot) : sizes.bytes;
}
/// Shows the receiver a part of the queue from the block's owner to a member. @param mapping of the
/// owner's segment. @param block its offset. @param member index of the other rank. @param offset
/// of its memory, zeroed.
void set_queue_part(const Mapping& mapping, std::uint64_t block, std::size_t member, QueuePart part,
                    std::uint64_t offset);
/// The memory of a window: kWindowPieces pieces.
struct WindowMemory {
  std::byte* data = nullptr;      ///< Null: there is none.
  std::uint64_t piece_bytes = 0;  ///< Of each piece; 0 if there is none.
};
/// @param mapping of a segment. @param block its offset. @return the window. Throws
/// Error{transport} if what is there makes no sense.
[[nodiscard]] WindowMemory window_of(const Mapping& mapping, std::uint64_t block);
/// @param mapping of a segment. @param block its offset. @return the bytes that its window needs.
[[nodiscard]] std::uint64_t window_bytes(const Mapping& mapping, std::uint64_t block);
/// Shows all members the window. @param mapping of the owner's segment. @param block its offset.
/// @param offset of its memory.
void set_window(const Mapping& mapping, std::uint64_t block, std::uint64_t offset);
/// @param mapping of the consumer's segment. @param block its offset. @param member index of the
/// rank whose messages are consumed. @return the counts of what it has consumed. Throws as
/// queue_of.
[[nodiscard]] Consumed* consumed_of(const Mapping& mapping, std::uint64_t block,
                                    std::size_t member);

/// Addresses of a segment: more than any host has memory for its ranks.
inline constexpr std::size_t kSegmentBytes = std::size_t{256} << 30;
/// @param size as Segment's. @return a segment with an empty front.
[[nodiscard]] std::shared_ptr<Segment> make_segment(std::size_t size = kSegmentBytes);
/// @param mapping of a segment. @return its front. Throws Error{transport} if it has none.
[[nodiscard]] Front& front_of(const Mapping& mapping);
/// @param front of a segment. @param communicator id. @return its entry, or null.
[[nodiscard]] Entry* find_entry(Front& front, std::uint64_t communicator) noexcept;
/// @param front of the own segment. @param communicator id. @param block offset of its block.
/// @return the new entry. Throws Error{transport} when there is no room for it in the table.
Entry& add_entry(Front& front, std::uint64_t communicator, std::uint64_t block);
/// @param entry that another communicator may have now.
void remove_entry(Entry& entry) noexcept;

}  // namespace tutti::shm
