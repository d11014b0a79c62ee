#include "arena.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace tutti::standin {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kFreshByte = 0xA5;

// @return the next address for an allocation. The driver aligns large ones to more than a page.
CUdeviceptr aligned(CUdeviceptr address, std::size_t bytes) {
  const CUdeviceptr alignment = bytes < kPage ? 512 : kPage;
  return (address + alignment - 1) / alignment * alignment;
}

}  // namespace

Arena::Arena(std::size_t bytes)
    : file_{bytes}, mapping_{file_, 0, bytes}, next_{mapping_.fence()} {}

// A pool gives the memory that it keeps to no other pool.
bool Arena::claim(std::size_t bytes, Pool* pool) {
  const std::size_t more =
      pool == nullptr ? bytes : std::max(pool->used + bytes, pool->reserved) - pool->reserved;
  if (more > mapping_.bytes() - taken_) return false;
  taken_ += more;
  if (pool == nullptr) return true;
  pool->reserved += more;
  pool->used += bytes;
  return true;
}

void Arena::erase(Blocks::iterator block) {
  const auto [bytes, pool] = std::pair{block->second.bytes, block->second.pool};
  blocks_.erase(block);
  if (pool == nullptr) {
    taken_ -= bytes;
    return;
  }
  pool->used -= bytes;
  if (!pool->holds()) shrink(*pool, 0);
}

void Arena::shrink(Pool& pool, std::size_t kept) {
  const std::size_t reserved = std::max(pool.used, std::min(kept, pool.reserved));
  taken_ -= pool.reserved - reserved;
  pool.reserved = reserved;
}

void Arena::trim(Pool& pool, std::size_t kept) {
  const std::scoped_lock lock{mutex_};
  shrink(pool, kept);
}

CUdeviceptr Arena::reserve(std::size_t bytes, std::shared_ptr<Pool> pool) {
  if (bytes > mapping_.bytes()) return 0;
  const std::scoped_lock lock{mutex_};
  CUdeviceptr start = gap(next_, bytes);
  if (start == 0) start = gap(mapping_.fence(), bytes);
  if (start == 0 || !claim(bytes, pool.get())) return 0;
  blocks_.emplace(start, Block{bytes, std::move(pool), next_serial_++});
  next_ = start + bytes;
  return start;
}

void Arena::open(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  Block& block = blocks_.at(start);
  std::memset(mapping_.alias(start), kFreshByte, block.bytes);
  block.open = true;
}

bool Arena::retire(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  const auto found = blocks_.find(start);
  if (found == blocks_.end() || found->second.retired) return false;
  found->second.retired = true;
  return true;
}

void Arena::close(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  const auto found = blocks_.find(start);
  const CUdeviceptr page = page_bytes();
  const CUdeviceptr first = (start + page - 1) / page * page;
  const CUdeviceptr last = (start + found->second.bytes) / page * page;
  if (last > first) file_.drop(first - mapping_.fence(), last - first);
  if (found->second.kept) found->second.open = false;
  else erase(found);
}

void Arena::keep(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  Block& block = blocks_.at(start);
  block.kept = true;
  block.retired = true;
}

void Arena::revive(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  blocks_.at(start).retired = false;
}

bool Arena::is_live(CUdeviceptr start) const {
  const std::scoped_lock lock{mutex_};
  return !blocks_.at(start).retired;
}

void Arena::release(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  const auto found = blocks_.find(start);
  found->second.kept = false;
  if (found->second.retired && !found->second.open) erase(found);
}

std::byte* Arena::reach(CUdeviceptr address, std::size_t bytes) const {
  const std::scoped_lock lock{mutex_};
  const auto found = block_at(address);
  if (found == blocks_.end() || !found->second.open) return nullptr;
  const std::size_t left = found->second.bytes - (address - found->first);
  return bytes <= left ? mapping_.alias(address) : nullptr;
}

std::optional<Range> Arena::find(CUdeviceptr address) const {
  const std::scoped_lock lock{mutex_};
  const auto found = block_at(address);
  if (found == blocks_.end() || (found->second.retired && !found->second.kept)) return {};
  return Range{found->first, found->second.bytes, found->second.pool, found->second.serial};
}

void Arena::write_leaks(std::ostream& out) const {
  const std::scoped_lock lock{mutex_};
  for (const auto& [start, block] : blocks_) {
    if (block.retired) continue;
    out << (block.pool ? "cuMemAllocAsync " : "cuMemAlloc ") << block.bytes << " bytes\n";
  }
}

// The first room at or behind an address; zero if there is none.
CUdeviceptr Arena::gap(CUdeviceptr from, std::size_t bytes) const {
  CUdeviceptr start = aligned(from, bytes);
  for (auto block = blocks_.lower_bound(from); block != blocks_.end(); ++block) {
    if (block->first >= start && block->first - start >= bytes) return start;
    start = aligned(block->first + block->second.bytes, bytes);
  }
  const CUdeviceptr end = mapping_.fence() + mapping_.bytes();
  return start <= end && end - start >= bytes ? start : 0;
}

// The allocation that an address lies in.
Arena::Blocks::const_iterator Arena::block_at(CUdeviceptr address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return blocks_.end();
  const auto block = std::prev(after);
  return address - block->first < block->second.bytes ? block : blocks_.end();
}

}  // namespace tutti::standin
