/// @file
/// Memory that the ranks of one host share: one file without a name per rank, mapped by all.
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

/// A mapping of a rank's segment. The file is sealed, so that its owner cannot cut it short,
/// and it is mapped up to its full length, most of which has no memory behind it.
class Mapping {
 public:
  Mapping() = default;
  /// @param descriptor of a segment; not taken over. Throws Error{transport} if it is none, or one
  /// that could shrink.
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
/// that a full machine is an error here and not a signal later. Freed memory goes back to the
/// system, but for a little that is kept, since communicators that come and go allocate the same
/// sizes again and again. Calls from several threads at once are safe. A forked child shares the
/// memory, but cannot allocate or free it.
class Segment {
 public:
  /// Makes an empty one. @param front bytes at offset 0 that are never allocated; memory comes to
  /// them where they are touched. @param size bytes of addresses, most of which stay without
  /// memory; fewer where a limit on the address space wants it. Throws Error{transport} where the
  /// system refuses.
  Segment(std::size_t front, std::size_t size);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  /// @return the file, to be given to the other ranks.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const Mapping& mapping() const noexcept { return mapping_; }
  /// @param bytes more than zero. @return the offset of zeroed memory, aligned to 4 KiB; from 2 MiB
  /// up to 2 MiB, in huge pages where the system has them. Throws std::bad_alloc, and
  /// Error{invalid_argument} in a forked child.
  [[nodiscard]] std::uint64_t allocate(std::size_t bytes);
  /// @param offset that allocate returned. Its memory goes back to the system, but not by a child.
  void deallocate(std::uint64_t offset) noexcept;
  /// @param bytes whole pages. @return the offset of addresses without memory, at which other ranks
  /// may map a file. Throws as allocate.
  [[nodiscard]] std::uint64_t reserve_addresses(std::size_t bytes);
  /// The addresses may be returned by reserve_addresses again, but never by allocate: other ranks
  /// may still have a file there.
  void release_addresses(std::uint64_t offset, std::size_t bytes) noexcept;
  /// @return whether [data, data + bytes) is in the segment.
  [[nodiscard]] bool contains(const void* data, std::size_t bytes) const noexcept {
    const auto* begin = static_cast<const std::byte*>(data);
    return begin >= mapping_.base() && begin < mapping_.base() + mapping_.size() &&
           bytes <= static_cast<std::size_t>(mapping_.base() + mapping_.size() - begin);
  }
  /// @return a guard that distinguishes the process that made it from its children.
  [[nodiscard]] const ForkGuard& guard() const noexcept { return guard_; }
  /// @return bytes allocated.
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
  std::map<std::size_t, std::vector<std::uint64_t>> addresses_{};  // likewise, without memory
  std::size_t spare_bytes_ = 0;
  std::size_t used_ = 0;    // bytes of blocks
  std::size_t unseen_ = 0;  // of those, since the last look at the memory of the machine
};

}  // namespace tutti::shm
