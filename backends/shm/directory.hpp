/// @file
/// The layout of a segment: a table of communicators, and per communicator the queues to the other
/// ranks. Only the segment's owner writes it, except Entry::asleep.
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
  enum EntryState : std::uint32_t {
    open = 1,
    closed = 2,  ///< The owner sends nothing more.
    failed = 3,  ///< It sends nothing more, and its pieces must not be read or written any more.
    freed = 4    ///< All have closed it, and its memory is freed. The entry is reused once all have
                 ///< freed theirs: until then a missing entry means "not made yet".
  };
  std::atomic<std::uint64_t> communicator;  ///< Its id, never zero; written last.
  std::atomic<std::uint64_t> block;         ///< Offset of its Block.
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> asleep;  ///< Whether its thread sleeps on this word. The rank that
                                      ///< wakes it clears this.
};

/// The process of a segment's owner. Another process may see the number of a third one, for example
/// in another container; so whoever reads its memory reads the proof too.
struct Process {
  std::int64_t id;              ///< 0: none.
  std::uint64_t proof_address;  ///< Where in its own memory it has the proof.
  std::uint64_t proof;          ///< A random number.
};

/// The front of every segment, at its offset 0.
struct Front {
  static constexpr std::uint64_t kMagic = 0x3374757474697368;  // "tuttish3", as an integer
  std::uint64_t magic;
  Process process;
  std::atomic<std::uint64_t> levels;  ///< Number of the table's levels that have had an entry.
  Entry entries[kEntries];            ///< The levels, one behind the other.
};

/// The sizes of queues; the same for all queues of a block.
struct Sizes {
  std::uint32_t slots;
  std::uint32_t bytes;
};
/// @param ranks of one communicator on this host. @return sizes with which a rank's queues to all
/// of them take a few MiB, and the slots to its usual peers some 32 KiB.
[[nodiscard]] constexpr Sizes sizes_for(std::size_t ranks) noexcept {
  if (ranks <= 2) return {256, 512 << 10};
  if (ranks <= 4) return {128, 512 << 10};
  if (ranks <= 8) return {128, 256 << 10};
  if (ranks <= 32) return {64, 64 << 10};
  return {64, 32 << 10};
}

/// @param ranks of one communicator on this host. @return the longest message whose send ends with
/// a copy, if ranks outnumber cores.
[[nodiscard]] constexpr std::size_t longest_buffered(std::size_t ranks) noexcept {
  return most_at_once(sizes_for(ranks).bytes);
}

/// @param ranks of one communicator on this host. @return the bytes of a window's piece: the second
/// cache of a core, or less if many ranks have windows. The window of one of 2 to 8 ranks is eight
/// times this cache, that of one of 64 half of it, and that of one of 256 a quarter.
[[nodiscard]] std::uint32_t piece_bytes_for(std::size_t ranks) noexcept;

/// The front of a rank's memory for one communicator. Behind it follow the offset of its window (or
/// 0), a Pair per member, and a Consumed per member that shares the host.
struct alignas(8) Block {
  Sizes sizes;
  std::uint32_t piece_bytes;  ///< Bytes of a piece of the window.
  std::uint32_t members;
};
/// The memory that the owner of a block shares with one member. Most members of a communicator
/// never send each other messages, or only short ones, so a queue gets memory when it is needed.
struct Pair {
  std::uint64_t consumed;            ///< Offset, or 0: the member does not share the host.
  std::atomic<std::uint64_t> slots;  ///< Offset of the queue's slots, or 0: there are none yet.
  std::atomic<std::uint64_t> bytes;  ///< Offset of its ring of bytes, or 0: there is none yet.
};

/// @param members number of members. @param neighbours number of members that share the host.
/// @return bytes of a block.
[[nodiscard]] std::size_t block_bytes(std::size_t members, std::size_t neighbours) noexcept;
/// Writes a new block. @param base of the segment. @param offset of the block, zeroed memory.
/// @param has_queue by member, whether there may be a queue to it. @param neighbours number of
/// members to which there may be one.
void write_block(std::byte* base, std::uint64_t offset, std::span<const bool> has_queue,
                 std::size_t neighbours) noexcept;

/// Finds the queue from the block's owner to a member: its slots and bytes, as far as they have
/// memory. Its `consumed` stays null, since that lies in the other rank's block. @param mapping of
/// the owner's segment. @param block its offset. @param member index of the other rank. Throws
/// Error{transport} for invalid data.
[[nodiscard]] QueueMemory queue_of(const Mapping& mapping, std::uint64_t block, std::size_t member);
/// The memory of a queue.
enum class QueuePart : std::uint8_t { slots, bytes };
/// @param sizes of the block. @return the bytes of a part.
[[nodiscard]] constexpr std::size_t bytes_of(const Sizes& sizes, QueuePart part) noexcept {
  return part == QueuePart::slots ? sizes.slots * sizeof(Slot) : sizes.bytes;
}
/// Publishes a part of the queue from the block's owner to a member. @param mapping of the owner's
/// segment. @param block its offset. @param member index of the other rank. @param offset of the
/// part's memory, zeroed.
void set_queue_part(const Mapping& mapping, std::uint64_t block, std::size_t member, QueuePart part,
                    std::uint64_t offset);
/// The memory of a window: kWindowPieces pieces.
struct WindowMemory {
  std::byte* data = nullptr;      ///< Null: there is no window.
  std::uint64_t piece_bytes = 0;  ///< Bytes of each piece; 0 if there is no window.
};
/// @param mapping of a segment. @param block its offset. @return the window. Throws
/// Error{transport} for invalid data.
[[nodiscard]] WindowMemory window_of(const Mapping& mapping, std::uint64_t block);
/// @param mapping of a segment. @param block its offset. @return the bytes that its window needs.
[[nodiscard]] std::uint64_t window_bytes(const Mapping& mapping, std::uint64_t block);
/// Publishes the window to all members. @param mapping of the owner's segment. @param block its
/// offset. @param offset of the window's memory.
void set_window(const Mapping& mapping, std::uint64_t block, std::uint64_t offset);
/// @param mapping of the consumer's segment. @param block its offset. @param member index of the
/// rank whose messages are consumed. @return the counts of consumed slots and bytes. Throws as
/// queue_of.
[[nodiscard]] Consumed* consumed_of(const Mapping& mapping, std::uint64_t block,
                                    std::size_t member);

/// The size of a segment's address range: more than the memory of any host for its ranks.
inline constexpr std::size_t kSegmentBytes = std::size_t{256} << 30;
/// @param size as Segment's. @return a segment with an empty front.
[[nodiscard]] std::shared_ptr<Segment> make_segment(std::size_t size = kSegmentBytes);
/// @param mapping of a segment. @return its front. Throws Error{transport} if it has none.
[[nodiscard]] Front& front_of(const Mapping& mapping);
/// @param front of a segment. @param communicator id. @return its entry, or null.
[[nodiscard]] Entry* find_entry(Front& front, std::uint64_t communicator) noexcept;
/// @param front of the own segment. @param communicator id. @param block offset of its block.
/// @return the new entry. Throws Error{transport} if the table has no room for it.
Entry& add_entry(Front& front, std::uint64_t communicator, std::uint64_t block);
/// Frees an entry for another communicator.
void remove_entry(Entry& entry) noexcept;

}  // namespace tutti::shm
