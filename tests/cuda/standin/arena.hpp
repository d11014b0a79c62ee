/// @file
/// A device's memory, handed out at inaccessible addresses: see Mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>

#include "tests/cuda/standin/mapping.hpp"
#include "tests/cuda/standin/pool.hpp"

namespace tutti::standin {

/// A piece of memory that was allocated.
struct Range {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  std::shared_ptr<Pool> pool{};  ///< Allocated in the order of a stream; null: not so.
  std::uint64_t serial = 0;      ///< No other allocation has this number.
};

class Arena {
 public:
  explicit Arena(std::size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::size_t bytes() const noexcept { return mapping_.bytes(); }
  bool contains(CUdeviceptr address) const noexcept { return mapping_.contains(address); }
  /// The file that it lies in, for other processes, and where an address is in there.
  const SharedFile& file() const noexcept { return file_; }
  std::size_t offset_of(CUdeviceptr address) const noexcept { return address - mapping_.fence(); }

  /// Finds room, which may not be accessed before it is opened.
  /// @param pool from which a stream allocates; null: none does.
  /// @return zero if there is no room.
  CUdeviceptr reserve(std::size_t bytes, std::shared_ptr<Pool> pool);
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

  /// Frees a pool's unallocated memory except `kept` bytes.
  void trim(Pool& pool, std::size_t kept);

  /// @return where the stand-in accesses these bytes; null unless all lie in one open allocation.
  std::byte* reach(CUdeviceptr address, std::size_t bytes) const;
  /// @return the allocation that an address lies in, if it was not freed, or its room is kept.
  std::optional<Range> find(CUdeviceptr address) const;
  /// Writes a line for each allocation that was not freed.
  void write_leaks(std::ostream& out) const;

 private:
  struct Block {
    std::size_t bytes;
    std::shared_ptr<Pool> pool;
    std::uint64_t serial;
    bool open = false;
    bool retired = false;
    bool kept = false;
  };
  using Blocks = std::map<CUdeviceptr, Block>;

  CUdeviceptr gap(CUdeviceptr from, std::size_t bytes) const;
  Blocks::const_iterator block_at(CUdeviceptr address) const;
  bool claim(std::size_t bytes, Pool* pool);
  void erase(Blocks::iterator block);
  void shrink(Pool& pool, std::size_t kept);

  const SharedFile file_;
  const Mapping mapping_;
  mutable std::mutex mutex_;
  std::uint64_t next_serial_ = 1;
  std::size_t taken_ = 0;  ///< Bytes of allocations that are in no pool, and of pools.
  Blocks blocks_;
  CUdeviceptr next_;  ///< The first address to try, so that freed memory stays unused long.
};

}  // namespace tutti::standin
