#include "directory.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include <unistd.h>

namespace tutti::shm {
namespace {

using WindowOffset = std::atomic<std::uint64_t>;

constexpr std::size_t line_up(std::size_t bytes) noexcept {
  return (bytes + 63) & ~std::size_t{63};
}

std::size_t front_bytes(std::size_t members) noexcept {
  return line_up(sizeof(Block) + sizeof(WindowOffset) + members * sizeof(Pair));
}

/// @return the front of a block that another process may have written.
Block checked_front(const Mapping& mapping, std::uint64_t block) {
  if (block % 64 != 0 || !mapping.holds(block, sizeof(Block))) throw nonsense();
  Block front;
  std::memcpy(&front, mapping.base() + block, sizeof front);
  if (!std::has_single_bit(front.sizes.slots) || !std::has_single_bit(front.sizes.bytes) ||
      !mapping.holds(block, front_bytes(front.members)))
    throw nonsense();
  return front;
}

WindowOffset& window_offset(const Mapping& mapping, std::uint64_t block) noexcept {
  return *std::launder(reinterpret_cast<WindowOffset*>(mapping.base() + block + sizeof(Block)));
}

/// A Pair of a block, and the block's sizes.
struct Found {
  Sizes sizes;
  Pair& pair;
};

Found pair_of(const Mapping& mapping, std::uint64_t block, std::size_t member) {
  const Block front = checked_front(mapping, block);
  if (member >= front.members) throw nonsense();
  std::byte* const pairs = mapping.base() + block + sizeof(Block) + sizeof(WindowOffset);
  Pair& pair = std::launder(reinterpret_cast<Pair*>(pairs))[member];
  if (pair.consumed == 0) throw nonsense();
  return {front.sizes, pair};
}

/// @return the address of an offset that another process wrote, or null if it is 0.
std::byte* checked(const Mapping& mapping, std::uint64_t offset, std::size_t bytes) {
  if (offset % 64 != 0 || !mapping.holds(offset, bytes)) throw nonsense();
  return offset == 0 ? nullptr : mapping.base() + offset;
}

std::uint64_t mixed(std::uint64_t id) noexcept {
  return (id ^ id >> 32U) * 0x9e3779b97f4a7c15U;
}

/// The entries of each level at which an id may be.
constexpr std::uint32_t kProbes = 16;

/// @return the first entry for which right(entry) holds among those where an id may be in a level,
/// or null.
template <class Right>
Entry* find_in_level(Front& front, std::size_t level, std::uint64_t id, Right right) noexcept {
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < level; ++i) begin += 1u << kLevelBits[i];
  const std::uint32_t mask = (1u << kLevelBits[level]) - 1;
  const auto place = static_cast<std::uint32_t>(mixed(id) >> (64U - kLevelBits[level]));
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    Entry& entry = front.entries[begin + ((place + i) & mask)];
    if (right(entry)) return &entry;
  }
  return nullptr;
}

}  // namespace

std::uint32_t piece_bytes_for(std::size_t ranks) noexcept {
  constexpr std::size_t kLeast = std::size_t{256} << 10;
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 or less if it is unknown
  const auto bytes = static_cast<std::size_t>(std::max(cache, 0L));
  const std::size_t piece = std::bit_floor(std::clamp(bytes, kLeast, kMost));
  return static_cast<std::uint32_t>(ranks <= 8 ? piece : ranks <= 64 ? piece / 2 : piece / 4);
}

std::size_t block_bytes(std::size_t members, std::size_t neighbours) noexcept {
  return front_bytes(members) + neighbours * sizeof(Consumed);
}

void write_block(std::byte* base, std::uint64_t offset, std::span<const bool> has_queue,
                 std::size_t neighbours) noexcept {
  const Block front{sizes_for(neighbours), piece_bytes_for(neighbours),
                    static_cast<std::uint32_t>(has_queue.size())};
  std::memcpy(base + offset, &front, sizeof front);
  std::uint64_t next = offset + front_bytes(has_queue.size());
  for (std::size_t member = 0; member < has_queue.size(); ++member) {
    if (!has_queue[member]) continue;
    std::byte* const pair =
        base + offset + sizeof front + sizeof(WindowOffset) + member * sizeof(Pair);
    std::memcpy(pair + offsetof(Pair, consumed), &next, sizeof next);
    next += sizeof(Consumed);
  }
}

QueueMemory queue_of(const Mapping& mapping, std::uint64_t block, std::size_t member) {
  const auto [sizes, pair] = pair_of(mapping, block, member);
  std::byte* const slots = checked(mapping, pair.slots.load(std::memory_order_acquire),
                                   bytes_of(sizes, QueuePart::slots));
  return {.slots = std::launder(reinterpret_cast<Slot*>(slots)),
          .bytes = checked(mapping, pair.bytes.load(std::memory_order_acquire),
                           bytes_of(sizes, QueuePart::bytes)),
          .consumed = nullptr,
          .slot_count = sizes.slots,
          .byte_count = sizes.bytes,
          .mapping = &mapping,
          .bytes_offset = &pair.bytes};
}

std::byte* bytes_of(const QueueMemory& queue) {
  std::byte* const bytes = checked(
      *queue.mapping, queue.bytes_offset->load(std::memory_order_acquire), queue.byte_count);
  if (bytes == nullptr) throw nonsense();
  return bytes;
}

void set_queue_part(const Mapping& mapping, std::uint64_t block, std::size_t member, QueuePart part,
                    std::uint64_t offset) {
  Pair& pair = pair_of(mapping, block, member).pair;
  (part == QueuePart::slots ? pair.slots : pair.bytes).store(offset, std::memory_order_release);
}

std::uint64_t window_bytes(const Mapping& mapping, std::uint64_t block) {
  return kWindowPieces * std::uint64_t{checked_front(mapping, block).piece_bytes};
}

WindowMemory window_of(const Mapping& mapping, std::uint64_t block) {
  const Block front = checked_front(mapping, block);
  const std::uint64_t offset = window_offset(mapping, block).load(std::memory_order_acquire);
  std::byte* const data = checked(mapping, offset, kWindowPieces * std::size_t{front.piece_bytes});
  return {data, data == nullptr ? 0 : front.piece_bytes};
}

void set_window(const Mapping& mapping, std::uint64_t block, std::uint64_t offset) {
  window_offset(mapping, block).store(offset, std::memory_order_release);
}

Consumed* consumed_of(const Mapping& mapping, std::uint64_t block, std::size_t member) {
  const std::uint64_t offset = pair_of(mapping, block, member).pair.consumed;
  return std::launder(reinterpret_cast<Consumed*>(checked(mapping, offset, sizeof(Consumed))));
}

std::shared_ptr<Segment> make_segment(std::size_t size) {
  auto segment = std::make_shared<Segment>(sizeof(Front), size);
  std::memcpy(segment->mapping().base(), &Front::kMagic, sizeof Front::kMagic);
  return segment;
}

Front& front_of(const Mapping& mapping) {
  if (!mapping.holds(0, sizeof(Front))) throw nonsense();
  auto& front = *std::launder(reinterpret_cast<Front*>(mapping.base()));
  if (front.magic != Front::kMagic) throw nonsense();
  return front;
}

Entry* find_entry(Front& front, std::uint64_t communicator) noexcept {
  const auto is_it = [communicator](const Entry& entry) {
    return entry.communicator.load(std::memory_order_acquire) == communicator;
  };
  const auto levels =
      std::min<std::uint64_t>(front.levels.load(std::memory_order_acquire), kLevelBits.size());
  for (std::size_t level = 0; level < levels; ++level)
    if (Entry* const entry = find_in_level(front, level, communicator, is_it)) return entry;
  return nullptr;
}

Entry& add_entry(Front& front, std::uint64_t communicator, std::uint64_t block) {
  expects(find_entry(front, communicator) == nullptr, "two communicators have one id");
  const auto is_free = [](const Entry& entry) {
    return entry.communicator.load(std::memory_order_relaxed) == 0;
  };
  for (std::size_t level = 0; level < kLevelBits.size(); ++level) {
    Entry* const entry = find_in_level(front, level, communicator, is_free);
    if (entry == nullptr) continue;
    entry->block.store(block, std::memory_order_relaxed);
    entry->asleep.store(0, std::memory_order_relaxed);
    entry->state.store(Entry::open, std::memory_order_relaxed);
    entry->communicator.store(communicator, std::memory_order_release);
    if (front.levels.load(std::memory_order_relaxed) <= level)
      front.levels.store(level + 1, std::memory_order_release);
    return *entry;
  }
  throw Error{ErrorCode::transport,
              "this process has as many communicators at a time as there is room for, about " +
                  std::to_string(kEntries) + "; destroy some of them first"};
}

void remove_entry(Entry& entry) noexcept {
  entry.communicator.store(0, std::memory_order_release);
}

}  // namespace tutti::shm
