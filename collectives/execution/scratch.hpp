/// @file
/// The library's memory, from which operations acquire blocks while they run.
#pragma once

#include <cstddef>
#include <vector>

#include <tutti/spi/memory.hpp>

namespace tutti::v0::detail {

/// A run of bytes, or none.
struct ScratchBlock {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Alignment in bytes of blocks and of the parts that lanes get.
inline constexpr std::size_t kScratchAlignment = 64;

/// Keeps blocks that are given back for the next owner. So shapes that run one after the other
/// share warm memory, and the kept memory does not grow with their number.
class Scratch {
 public:
  /// @param memory makes the blocks. @param kept_bytes the most bytes of idle blocks. The block
  /// given back last always stays, so that a loop over one shape never allocates.
  Scratch(Memory& memory, std::size_t kept_bytes) noexcept
      : memory_{memory}, kept_bytes_{kept_bytes} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  [[nodiscard]] Memory& memory() const noexcept { return memory_; }
  /// @param bytes more than zero. @return a block of at least these. Throws std::bad_alloc.
  [[nodiscard]] ScratchBlock acquire(std::size_t bytes);
  /// @param block that acquire returned.
  void give_back(ScratchBlock block) noexcept;
  /// Gives up an acquired block into which a peer may still write; it is never freed.
  void abandon() noexcept { --blocks_; }

 private:
  Memory& memory_;
  std::size_t kept_bytes_;
  std::vector<ScratchBlock> idle_{};  // in the order in which they were given back
  std::size_t idle_bytes_ = 0;
  std::size_t blocks_ = 0;  // idle or acquired
};

}  // namespace tutti::v0::detail
