/// @file
/// The places of a vector's blocks in one rank's buffers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/spi/contract.hpp>

#include "selector/problem.hpp"

namespace tutti::v0::detail {

/// A run of elements inside a block or buffer.
struct Extent {
  std::size_t offset = 0;  ///< First element.
  std::size_t count = 0;   ///< Number of elements.
};

/// Sizes and places of all blocks, seen from one rank. Counts are elements.
class Layout {
 public:
  /// Equal blocks. @param count elements of each block.
  Layout(const Contract& contract, Rank self, std::size_t count);
  /// Unequal blocks. @param counts elements by block.
  Layout(const Contract& contract, Rank self, std::vector<std::size_t> counts);
  /// Blocks of which the rank knows only the sizes of its own; the others count as empty.
  /// @param own the sizes of its own, one per block.
  Layout(const Contract& contract, Rank self, const OwnCounts& own);

  [[nodiscard]] const Contract& contract() const noexcept { return contract_; }
  [[nodiscard]] Rank self() const noexcept { return self_; }
  /// @return elements of a block.
  [[nodiscard]] std::size_t count(std::uint32_t block) const noexcept {
    if (knows_own_) return own_count(block);
    return counts_.empty() ? equal_count_ : counts_[block];
  }
  /// Whether all blocks have one size.
  [[nodiscard]] bool is_equal() const noexcept { return counts_.empty() && !knows_own_; }
  /// @return elements of the largest block.
  [[nodiscard]] std::size_t largest() const noexcept { return largest_; }
  /// @return the first element of a block in the caller's input, which must hold it.
  [[nodiscard]] std::size_t in_offset(std::uint32_t block) const noexcept;
  /// @return the first element of a block in the caller's output, which must hold it.
  [[nodiscard]] std::size_t out_offset(std::uint32_t block) const noexcept;
  /// @return elements of the whole input.
  [[nodiscard]] std::size_t in_total() const noexcept { return in_offsets_.back(); }
  /// @return elements of the whole output.
  [[nodiscard]] std::size_t out_total() const noexcept { return out_offsets_.back(); }

 private:
  void place();
  [[nodiscard]] std::size_t own_count(std::uint32_t block) const noexcept;

  Contract contract_;
  Rank self_;
  bool knows_own_ = false;  // sizes are differences of the offsets below
  std::size_t equal_count_ = 0;
  std::size_t largest_ = 0;
  std::vector<std::size_t> counts_;
  // Prefix sums over the blocks that the input or output holds, in their order.
  std::vector<std::size_t> in_offsets_;
  std::vector<std::size_t> out_offsets_;
};

}  // namespace tutti::v0::detail
