/// @file
/// Memory that the ranks of one host share: a file without a name per rank, which all ranks map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/fork_guard.hpp>

namespace tutti::shm {

/// A mapping of a rank's segment. The file is sealed, so that its owner cannot shorten it, and is
/// mapped in its full length, most of which has no memory.
class Mapping {
 public:
  Mapping() = default;
  /// @param descriptor of a segment, which stays the caller's. Throws Error{transport} if it is not
  /// a segment, or could shrink.
  explicit Mapping(int descriptor);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// @return whether bytes [offset, offset + bytes) lie in it.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset <= size_ && bytes <= size_ - offset;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

/// The own segment, and its allocations. An allocation gets its memory from the system at once, so
/// that a full machine is an error here, and not a signal later. Freed memory goes back to the
/// system, except a little that is kept: short-lived communicators allocate the same sizes
/// repeatedly. Calls from several threads at once are safe. A forked child shares the memory, but
/// cannot allocate or free it.
class Segment {
 public:
  /// Makes an empty segment. @param front bytes at offset 0 that are never allocated; they get
  /// memory when they are touched. @param size bytes of addresses, most of which stay without
  /// memory; fewer if the address space is limited. Throws Error{transport} if the system refuses.
  Segment(std::size_t front, std::size_t size);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  /// @return the file, for the other ranks.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const Mapping& mapping() const noexcept { return mapping_; }
  /// @param bytes more than zero. @return the offset of zeroed memory, aligned to 4 KiB; from 2 MiB
  /// on aligned to 2 MiB, in huge pages if the system has them. Throws std::bad_alloc, and
  /// Error{invalid_argument} in a forked child.
  [[nodiscard]] std::uint64_t allocate(std::size_t bytes);
  /// Frees memory, except in a forked child. @param offset that allocate returned.
  void deallocate(std::uint64_t offset) noexcept;
  /// @param bytes whole pages. @return the offset of addresses without memory, at which other ranks
  /// may map a file. Throws as allocate.
  [[nodiscard]] std::uint64_t reserve_addresses(std::size_t bytes);
  /// Releases addresses for reserve_addresses, but not for allocate: other ranks may still have a
  /// file there.
  void release_addresses(std::uint64_t offset, std::size_t bytes) noexcept;
  /// @return whether [data, data + bytes) is in the segment.
  [[nodiscard]] bool contains(const void* data, std::size_t bytes) const noexcept {
    const auto* begin = static_cast<const std::byte*>(data);
    return begin >= mapping_.base() && begin < mapping_.base() + mapping_.size() &&
           bytes <= static_cast<std::size_t>(mapping_.base() + mapping_.size() - begin);
  }
  /// @return a guard that distinguishes the process that made the segment from its children.
  [[nodiscard]] const ForkGuard& guard() const noexcept { return guard_; }
  /// @return the number of allocated bytes.
  [[nodiscard]] std::size_t used() const;

 private:
  [[nodiscard]] std::uint64_t reserve(std::size_t bytes, std::size_t alignment);
  void give_back(std::uint64_t offset) noexcept;
  [[nodiscard]] bool keep(std::uint64_t offset, std::size_t bytes) noexcept;
  void fill(std::uint64_t offset, std::size_t bytes);
  void empty(std::uint64_t offset, std::size_t bytes) noexcept;

  ForkGuard guard_{};
  int descriptor_ = -1;
  Mapping mapping_{};
  mutable std::mutex mutex_{};
  std::unordered_map<std::uint64_t, std::size_t> blocks_{};        // offset -> bytes, allocated
  std::map<std::uint64_t, std::size_t> holes_{};                   // offset -> bytes, free
  std::map<std::size_t, std::vector<std::uint64_t>> spare_{};      // bytes -> offsets, see kSpare
  std::map<std::size_t, std::vector<std::uint64_t>> addresses_{};  // bytes -> released offsets
  std::size_t spare_bytes_ = 0;
  std::size_t used_ = 0;    // bytes of blocks
  std::size_t unseen_ = 0;  // bytes of blocks since the machine's free memory was last read
};

}  // namespace tutti::shm
