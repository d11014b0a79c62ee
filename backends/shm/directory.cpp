#include "directory.hpp"

#include <cstddef>
#include <new>
#include <random>

#include <sys/uio.h>

namespace tutti::shm {
namespace {

constexpr std::size_t line_up(std::size_t bytes) noexcept {
  return (bytes + 63) & ~std::size_t{63};
}

std::size_t front_bytes(std::size_t members) noexcept {
  return line_up(sizeof(Block) + members * sizeof(std::uint64_t));
}
std::size_t road_bytes(const Sizes& sizes) noexcept {
  return sizeof(Consumed) + sizes.slots * sizeof(Slot) + sizes.bytes;
}

/// The place of the pair's words in a block: consumed, slots, bytes, in this order.
std::byte* pair_of(const Mapping& mapping, std::uint64_t block, std::size_t member, Sizes& sizes) {
  if (!mapping.holds(block, sizeof(Block))) throw nonsense();
  Block front;
  std::memcpy(&front, mapping.base() + block, sizeof front);
  sizes = front.sizes;
  if (!std::has_single_bit(sizes.slots) || !std::has_single_bit(sizes.bytes) ||
      member >= front.members || !mapping.holds(block, front_bytes(front.members)))
    throw nonsense();
  std::uint64_t offset = 0;
  std::memcpy(&offset, mapping.base() + block + sizeof(Block) + member * sizeof offset,
              sizeof offset);
  if (offset == 0 || offset % 64 != 0 || !mapping.holds(offset, road_bytes(sizes)))
    throw nonsense();
  return mapping.base() + offset;
}

}  // namespace

std::size_t block_bytes(std::size_t members, std::size_t neighbours) noexcept {
  return front_bytes(members) + neighbours * road_bytes(sizes_for(neighbours));
}

void write_block(std::byte* base, std::uint64_t offset, std::span<const bool> has_road,
                 std::size_t neighbours) noexcept {
  const Block front{sizes_for(neighbours), static_cast<std::uint32_t>(has_road.size())};
  std::memcpy(base + offset, &front, sizeof front);
  std::uint64_t next = offset + front_bytes(has_road.size());
  for (std::size_t member = 0; member < has_road.size(); ++member) {
    if (!has_road[member]) continue;
    std::memcpy(base + offset + sizeof front + member * sizeof next, &next, sizeof next);
    next += road_bytes(front.sizes);
  }
}

Road road_of(const Mapping& mapping, std::uint64_t block, std::size_t member) {
  Sizes sizes{};
  std::byte* const pair = pair_of(mapping, block, member, sizes);
  std::byte* const slots = pair + sizeof(Consumed);
  return {.slots = std::launder(reinterpret_cast<Slot*>(slots)),
          .bytes = slots + sizes.slots * sizeof(Slot),
          .consumed = nullptr,
          .slot_count = sizes.slots,
          .byte_count = sizes.bytes};
}

Consumed* consumed_of(const Mapping& mapping, std::uint64_t block, std::size_t member) {
  Sizes sizes{};
  return std::launder(reinterpret_cast<Consumed*>(pair_of(mapping, block, member, sizes)));
}

std::shared_ptr<Segment> make_segment(std::size_t size) {
  auto segment = std::make_shared<Segment>(sizeof(Front), size);
  std::byte* const base = segment->mapping().base();
  std::random_device random;
  const std::uint64_t head[] = {Front::kMagic, reinterpret_cast<std::uint64_t>(base),
                                std::uint64_t{random()} << 32 | random()};
  static_assert(offsetof(Front, entries) == sizeof head);
  std::memcpy(base, head, sizeof head);
  return segment;
}

bool can_read(const Front& front, int process) noexcept {
  std::uint64_t head[3] = {};
  const iovec local{head, sizeof head};
  const iovec remote{reinterpret_cast<void*>(front.address), sizeof head};
  return process > 0 && process_vm_readv(process, &local, 1, &remote, 1, 0) == sizeof head &&
         head[0] == front.magic && head[1] == front.address && head[2] == front.nonce;
}

Front& front_of(const Mapping& mapping) {
  if (!mapping.holds(0, sizeof(Front))) throw nonsense();
  auto& front = *std::launder(reinterpret_cast<Front*>(mapping.base()));
  if (front.magic != Front::kMagic) throw nonsense();
  return front;
}

// Open addressing: an id's entry is the first of the free ones from its own place on.
Entry* find_entry(Front& front, std::uint64_t communicator) noexcept {
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    Entry& entry = front.entries[(communicator + i) % kEntries];
    const std::uint64_t id = entry.communicator.load(std::memory_order_acquire);
    if (id == communicator) return &entry;
    if (id == 0) return nullptr;
  }
  return nullptr;
}

Entry& add_entry(Front& front, std::uint64_t communicator, std::uint64_t block) {
  for (std::uint32_t i = 0; i < kEntries; ++i) {
    Entry& entry = front.entries[(communicator + i) % kEntries];
    const std::uint64_t id = entry.communicator.load(std::memory_order_relaxed);
    expects(id != communicator, "two communicators have one id");
    if (id != 0) continue;
    entry.block.store(block, std::memory_order_relaxed);
    entry.state.store(Entry::open, std::memory_order_relaxed);
    entry.communicator.store(communicator, std::memory_order_release);
    return entry;
  }
  throw Error{ErrorCode::transport, "this process has made " + std::to_string(kEntries) +
                                        " communicators, the most there may be in one world"};
}

}  // namespace tutti::shm
