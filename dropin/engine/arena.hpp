/// @file
/// Memory of the program that the other ranks of its host see.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backends/shm/segment.hpp"

namespace tutti::dropin {

/// Blocks of whole pages in a segment. They get memory when they are touched, as those of malloc.
/// A forked child has copies of the blocks of its own; it can neither allocate nor free others.
/// Calls from several threads at once are safe.
class Arena {
 public:
  /// Takes half of a segment's addresses. Throws std::bad_alloc.
  explicit Arena(std::shared_ptr<shm::Segment> segment);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// @param alignment a power of two. @return memory, or null if there is none.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
  /// The same, with bytes that are zero.
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes) noexcept;
  /// @param data of a block. Memory of large blocks goes back to the system.
  void deallocate(void* data) noexcept;
  [[nodiscard]] const std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] const std::byte* end() const noexcept { return begin_ + bytes_; }
  /// @return whether an address lies in the arena.
  [[nodiscard]] bool holds(const void* data) const noexcept {
    return data >= begin() && data < end();
  }
  /// @param data of a block. @return its bytes.
  [[nodiscard]] std::size_t size_of(const void* data) noexcept;

  /// @return the bytes of all blocks.
  [[nodiscard]] std::size_t bytes_in_use() noexcept;

  // Around fork, in this order. The child copies all blocks while the parent waits.
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;

 private:
  [[nodiscard]] std::uint64_t take(std::size_t bytes, std::size_t alignment);
  void give_back(std::uint64_t offset, std::size_t bytes) noexcept;
  void empty(std::uint64_t offset, std::size_t bytes) noexcept;
  void copy_to_child(std::uint64_t offset, std::size_t bytes) noexcept;
  [[nodiscard]] std::uint64_t offset_of(const void* data) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(data) -
                                      segment_->mapping().base());
  }

  const std::shared_ptr<shm::Segment> segment_;
  const std::size_t bytes_;
  const std::uint64_t offset_;
  std::byte* const begin_;
  std::mutex mutex_{};
  // Maps of nodes, since the arena must not allocate for itself what is long.
  std::map<std::uint64_t, std::size_t> holes_{};   // offset -> bytes
  std::map<std::uint64_t, std::size_t> blocks_{};  // offset -> bytes
  std::array<int, 2> copied_{-1, -1};              // a pipe that closes when the child has copied
  bool is_child_ = false;
};

}  // namespace tutti::dropin
