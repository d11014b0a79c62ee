/// @file
/// A device's memory. It is handed out at addresses that nobody may touch: the same bytes lie, for
/// the stand-in alone, at an alias a constant distance away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <ostream>

#include <cuda.h>

namespace tutti::standin {

/// A piece of memory that was allocated.
struct Range {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  bool pooled = false;  ///< Allocated in the order of a stream.
};

class Arena {
 public:
  explicit Arena(std::size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  std::size_t bytes() const noexcept { return bytes_; }
  bool contains(CUdeviceptr address) const noexcept {
    return address >= fence_ && address - fence_ < bytes_;
  }

  /// Finds room, which may not be accessed before it is opened.
  /// @param pooled whether it is allocated in the order of a stream.
  /// @return zero if there is no room.
  CUdeviceptr reserve(std::size_t bytes, bool pooled);
  /// From now on it may be accessed; it is full of kFreshByte.
  void open(CUdeviceptr start);
  /// It may not be freed again, though it may still be accessed. @return false if it is no
  /// allocation, or one that was freed.
  bool retire(CUdeviceptr start);
  /// From now on it may not be accessed, and its room is used again.
  void close(CUdeviceptr start);

  /// From now on its room is never used for anything else, though it is not allocated, but for
  /// between revive and retire.
  void keep(CUdeviceptr start);
  void revive(CUdeviceptr start);
  /// @return whether it is allocated, and was not freed.
  bool is_live(CUdeviceptr start) const;
  /// It is like any other allocation again: once it is freed, its room is used again.
  void release(CUdeviceptr start);

  /// @return where the stand-in accesses these bytes; null unless all lie in one open allocation.
  std::byte* reach(CUdeviceptr address, std::size_t bytes) const;
  /// @return the allocation that an address lies in, if it was not freed, or its room is kept.
  std::optional<Range> find(CUdeviceptr address) const;
  /// Writes a line for each allocation that was not freed.
  void write_leaks(std::ostream& out) const;

 private:
  struct Block {
    std::size_t bytes;
    bool pooled;
    bool open = false;
    bool retired = false;
    bool kept = false;
  };
  using Blocks = std::map<CUdeviceptr, Block>;

  std::byte* alias(CUdeviceptr address) const noexcept;
  CUdeviceptr gap(CUdeviceptr from, std::size_t bytes) const;
  Blocks::const_iterator block_at(CUdeviceptr address) const;

  const std::size_t bytes_;
  std::byte* const mapping_;  ///< The fence, then the alias.
  const CUdeviceptr fence_;
  mutable std::mutex mutex_;
  Blocks blocks_;
  CUdeviceptr next_;  ///< Where room is looked for first, so that what was freed stays unused long.
};

}  // namespace tutti::standin
