#include "dropin/engine/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace tutti::dropin {
namespace {

constexpr std::size_t kPage = std::size_t{4} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// The least bytes of a block whose memory goes back to the system when it is freed. That of
/// shorter ones stays, since programs allocate the same sizes repeatedly.
constexpr std::size_t kReturned = std::size_t{1} << 20;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Arena::Arena(std::shared_ptr<shm::Segment> segment)
    : segment_{std::move(segment)}, bytes_{segment_->mapping().size() / 2 / kHugePage * kHugePage},
      offset_{segment_->reserve_addresses(bytes_)}, begin_{segment_->mapping().base() + offset_} {
  madvise(begin_, bytes_, MADV_HUGEPAGE);
  holes_.emplace(offset_, bytes_);
}

/// Takes the first hole that fits, so that memory which is used again is at low addresses.
std::uint64_t Arena::take(std::size_t bytes, std::size_t alignment) {
  const auto base = reinterpret_cast<std::uintptr_t>(segment_->mapping().base());
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [offset, size] = *hole;
    const std::uint64_t begin = round_up(base + offset, alignment) - base;
    const std::uint64_t end = begin + bytes;
    if (end > offset + size) continue;
    blocks_.emplace(begin, bytes);
    // If there is no memory for this list, the block is lost, and nothing overlaps.
    if (end < offset + size) holes_.emplace(end, offset + size - end);
    if (begin > offset) hole->second = begin - offset;
    else holes_.erase(hole);
    return begin;
  }
  throw std::bad_alloc{};
}

void* Arena::allocate(std::size_t bytes, std::size_t alignment) noexcept try {
  if (bytes > bytes_ || alignment > kHugePage) return nullptr;
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kPage);
  const std::lock_guard lock{mutex_};
  if (is_child_) return nullptr;
  return segment_->mapping().base() +
         take(size, std::max(alignment, size >= kHugePage ? kHugePage : kPage));
} catch (const std::bad_alloc&) {
  return nullptr;
}

// A large block has no memory yet, whose bytes will be zero.
void* Arena::allocate_zeroed(std::size_t bytes) noexcept {
  void* const data = allocate(bytes, kPage);
  if (data != nullptr && bytes < kReturned) std::memset(data, 0, bytes);
  else if (data != nullptr) empty(offset_of(data), round_up(bytes, kPage));
  return data;
}

void Arena::empty(std::uint64_t offset, std::size_t bytes) noexcept {
  fallocate(segment_->descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

void Arena::give_back(std::uint64_t offset, std::size_t bytes) noexcept try {
  auto hole = holes_.emplace(offset, bytes).first;
  if (const auto next = std::next(hole);
      next != holes_.end() && next->first == hole->first + hole->second) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole == holes_.begin()) return;
  if (const auto last = std::prev(hole); last->first + last->second == hole->first) {
    last->second += hole->second;
    holes_.erase(hole);
  }
} catch (const std::bad_alloc&) {
  // Its addresses stay in use.
}

void Arena::deallocate(void* data) noexcept {
  const std::uint64_t offset = offset_of(data);
  const std::lock_guard lock{mutex_};
  const auto block = blocks_.find(offset);
  if (is_child_ || block == blocks_.end()) return;
  const std::size_t bytes = block->second;
  blocks_.erase(block);
  if (bytes >= kReturned) empty(offset, bytes);
  give_back(offset, bytes);
}

std::size_t Arena::size_of(const void* data) noexcept {
  const std::lock_guard lock{mutex_};
  const auto block = blocks_.find(offset_of(data));
  return block == blocks_.end() ? 0 : block->second;
}

std::size_t Arena::bytes_in_use() noexcept {
  const std::lock_guard lock{mutex_};
  std::size_t bytes = 0;
  for (const auto& [offset, size] : blocks_) bytes += size;
  return bytes;
}

void Arena::before_fork() noexcept {
  mutex_.lock();
  if (blocks_.empty() || is_child_ || pipe2(copied_.data(), O_CLOEXEC) != 0) copied_ = {-1, -1};
}

void Arena::after_fork_in_parent() noexcept {
  if (copied_[0] >= 0) {
    close(copied_[1]);
    char byte = 0;
    while (read(copied_[0], &byte, 1) < 0 && errno == EINTR) continue;
    close(copied_[0]);
  }
  mutex_.unlock();
}

void Arena::after_fork_in_child() noexcept {
  if (!std::exchange(is_child_, true))
    for (const auto& [offset, bytes] : blocks_) copy_to_child(offset, bytes);
  for (const int end : copied_)
    if (end >= 0) close(end);
  mutex_.unlock();
}

// The child does not have the parent's mapping, but its file, of which only parts have memory.
void Arena::copy_to_child(std::uint64_t offset, std::size_t bytes) noexcept {
  std::byte* const to = segment_->mapping().base() + offset;
  const auto end = static_cast<off_t>(offset + bytes);
  if (mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    return;
  const int file = segment_->descriptor();
  for (off_t begin = static_cast<off_t>(offset); begin < end;) {
    begin = lseek(file, begin, SEEK_DATA);
    if (begin < 0 || begin >= end) return;
    const off_t behind = std::min(end, lseek(file, begin, SEEK_HOLE));
    const ssize_t got = pread(file, segment_->mapping().base() + begin,
                              static_cast<std::size_t>(behind - begin), begin);
    if (got <= 0) return;
    begin += got;
  }
}

}  // namespace tutti::dropin
