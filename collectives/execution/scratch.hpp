/// @file
/// Memory of our own that operations borrow while they run.
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

/// Blocks start at, and their parts are padded to, this many bytes.
inline constexpr std::size_t kScratchAlignment = 64;

/// Hands out blocks, and keeps those that come back for the next owner. So shapes that run one
/// after the other share memory that is warm, and what is kept does not grow with their number.
class Scratch {
 public:
  /// @param memory where blocks lie. @param kept_bytes of idle blocks at most; the one that came
  /// back last stays whatever its size, so that a loop over one shape never allocates.
  Scratch(Memory& memory, std::size_t kept_bytes) noexcept
      : memory_{memory}, kept_bytes_{kept_bytes} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  [[nodiscard]] Memory& memory() const noexcept { return memory_; }
  /// @param bytes more than zero. @return a block of as many or more; throws std::bad_alloc.
  [[nodiscard]] ScratchBlock acquire(std::size_t bytes);
  /// @param block that acquire returned.
  void give_back(ScratchBlock block) noexcept;
  /// Forgets a block that was acquired: a peer may still write into it.
  void abandon() noexcept { --blocks_; }

 private:
  Memory& memory_;
  std::size_t kept_bytes_;
  std::vector<ScratchBlock> idle_{};  // the one that came back last at the end
  std::size_t idle_bytes_ = 0;
  std::size_t blocks_ = 0;  // idle or acquired
};

}  // namespace tutti::v0::detail
