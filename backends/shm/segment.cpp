#include "segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tutti/spi/memory.hpp>

#include "base/available_memory.hpp"
#include "base/write_file.hpp"

namespace tutti::shm {
namespace {

constexpr std::size_t kPage = std::size_t{4} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLeastBytes = std::size_t{64} << 20;
/// The largest block, in bytes, that is kept when it is freed.
constexpr std::size_t kSpareBlock = std::size_t{16} << 10;
/// The most bytes of such blocks.
constexpr std::size_t kSpare = std::size_t{1} << 20;
Error system_error(const std::string& what) {
  return {
      ErrorCode::transport,
      "cannot " + what + ": " + detail::text_of_write_error(errno) +
          "; where a container or a sandbox forbids shared memory, ask for the transport \"tcp\", "
          "which needs none (InitOptions::transport)"};
}

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::byte* map(int descriptor, std::size_t size) {
  void* base =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) return nullptr;
  // A child that shared it would write into the parent's messages.
  madvise(base, size, MADV_DONTFORK);
  return static_cast<std::byte*>(base);
}

}  // namespace

Mapping::Mapping(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw system_error("look at a shared memory segment");
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || status.st_size <= 0)
    throw Error{ErrorCode::transport,
                "a rank of this host sent something that is no sealed shared memory segment"};
  size_ = static_cast<std::size_t>(status.st_size);
  base_ = map(descriptor, size_);
  if (base_ == nullptr)
    throw system_error("map shared memory of " + std::to_string(size_) + " bytes");
}

Mapping::Mapping(Mapping&& other) noexcept
    : base_{std::exchange(other.base_, nullptr)}, size_{std::exchange(other.size_, 0)} {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, size_);
}

Segment::Segment(std::size_t front, std::size_t size) {
  descriptor_ = memfd_create("tutti", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) throw system_error("make shared memory");
  const detail::FileSizeSignalBlocked blocked;
  // The length is final from here on, so lengths are tried from the largest down.
  std::byte* probe = nullptr;
  for (; size >= kLeastBytes; size /= 4)
    if (ftruncate(descriptor_, static_cast<off_t>(size)) == 0 &&
        (probe = map(descriptor_, size)) != nullptr)
      break;
  if (probe != nullptr) munmap(probe, size);
  try {
    if (probe == nullptr) throw system_error("map shared memory");
    if (fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
      throw system_error("seal shared memory");
    mapping_ = Mapping{descriptor_};
    const std::size_t begin = round_up(front, kPage);
    if (mapping_.size() > begin) holes_.emplace(begin, mapping_.size() - begin);
    blocks_.reserve(64);
    used_ = begin;
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Segment::~Segment() {
  close(descriptor_);
}

/// Takes the first hole that fits. The bytes before an aligned block stay a hole.
std::uint64_t Segment::reserve(std::size_t bytes, std::size_t alignment) {
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [offset, size] = *hole;
    const std::uint64_t begin = round_up(offset, alignment);
    const std::uint64_t end = begin + bytes;
    if (end > offset + size) continue;
    // Splits the hole first, so that nothing overlaps if there is no memory for these lists.
    if (end < offset + size) {
      holes_.emplace(end, offset + size - end);
      hole->second = end - offset;
    }
    blocks_.emplace(begin, bytes);
    if (begin > offset) hole->second = begin - offset;
    else holes_.erase(hole);
    used_ += bytes;
    return begin;
  }
  throw std::bad_alloc{};
}

void Segment::give_back(std::uint64_t offset) noexcept try {
  const auto block = blocks_.find(offset);
  used_ -= block->second;
  unseen_ -= std::min(unseen_, block->second);
  auto hole = holes_.emplace(offset, block->second).first;
  blocks_.erase(block);
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
  // Its addresses stay in use; its memory is freed already.
}

bool Segment::keep(std::uint64_t offset, std::size_t bytes) noexcept try {
  if (bytes > kSpareBlock || spare_bytes_ + bytes > kSpare) return false;
  spare_[bytes].push_back(offset);
  spare_bytes_ += bytes;
  used_ -= bytes;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

/// Gets memory for a block. A large block checks the machine's free memory first, and so does a
/// small one after many others that add up to a large one.
void Segment::fill(std::uint64_t offset, std::size_t bytes) {
  const auto take = [this, offset, bytes](std::size_t begin, std::size_t size) {
    const auto at = static_cast<off_t>(offset + begin);
    while (fallocate(descriptor_, 0, at, static_cast<off_t>(size)) != 0)
      if (errno != EINTR) throw MemoryShortage{bytes, detail::available_memory()};
  };
  unseen_ += bytes;
  if (unseen_ < detail::kLargeAllocation) return take(0, bytes);
  detail::take_memory(bytes, take);
  unseen_ = 0;
}

void Segment::empty(std::uint64_t offset, std::size_t bytes) noexcept {
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(bytes));
}

std::uint64_t Segment::allocate(std::size_t bytes) {
  guard_.check();
  if (bytes > mapping_.size()) throw MemoryShortage{bytes, detail::available_memory()};
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::size_t size = round_up(bytes, alignment);
  const std::lock_guard lock{mutex_};
  if (const auto spare = spare_.find(size); spare != spare_.end() && !spare->second.empty()) {
    const std::uint64_t offset = spare->second.back();
    spare->second.pop_back();
    spare_bytes_ -= size;
    used_ += size;
    std::memset(mapping_.base() + offset, 0, size);
    return offset;
  }
  const std::uint64_t offset = reserve(size, alignment);
  if (alignment == kHugePage) madvise(mapping_.base() + offset, size, MADV_HUGEPAGE);
  try {
    fill(offset, size);
  } catch (...) {
    empty(offset, size);
    give_back(offset);
    throw;
  }
  return offset;
}

void Segment::deallocate(std::uint64_t offset) noexcept {
  if (guard_.is_forked()) return;
  const std::lock_guard lock{mutex_};
  const auto block = blocks_.find(offset);
  if (block == blocks_.end()) return;
  if (keep(offset, block->second)) return;
  empty(offset, block->second);
  give_back(offset);
}

std::uint64_t Segment::reserve_addresses(std::size_t bytes) {
  guard_.check();
  const std::lock_guard lock{mutex_};
  std::vector<std::uint64_t>& free = addresses_[bytes];
  if (!free.empty()) {
    const std::uint64_t offset = free.back();
    free.pop_back();
    return offset;
  }
  if (bytes > mapping_.size()) throw std::bad_alloc{};
  const std::uint64_t offset = reserve(bytes, bytes >= kHugePage ? kHugePage : kPage);
  blocks_.erase(offset);
  used_ -= bytes;
  return offset;
}

void Segment::release_addresses(std::uint64_t offset, std::size_t bytes) noexcept try {
  const std::lock_guard lock{mutex_};
  addresses_[bytes].push_back(offset);
} catch (const std::bad_alloc&) {
  // The addresses stay in use.
}

std::size_t Segment::used() const {
  const std::lock_guard lock{mutex_};
  return used_;
}

}  // namespace tutti::shm
