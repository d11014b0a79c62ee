/// @file
/// What is asked of a communicator: checked arguments without any pointer to data.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <tutti/call.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

namespace tutti::v0::detail {

/// The sizes of blocks that one rank knows where each knows its own only.
struct OwnCounts {
  std::span<const std::size_t> in{};   ///< Of the input's blocks.
  std::span<const std::size_t> out{};  ///< Of the output's blocks.
};

/// A checked call. Equal on all ranks if they called alike. Views live as long as the call.
struct Problem {
  Contract contract{};
  Datatype type = Datatype::u8;
  std::size_t element_bytes = 1;
  const Operator* op = nullptr;           ///< Null where nothing is reduced.
  std::size_t count = 0;                  ///< Elements per block, where blocks are equal.
  std::span<const std::size_t> counts{};  ///< Elements per block, where they differ.
  std::string_view algorithm{};           ///< Forced choice, or empty.
  std::string_view transport{};           ///< As Options::transport.
  std::size_t segment = 0;                ///< As Options::segment.
  std::string_view name{};                ///< As CallName, or empty.
  bool visible = false;                   ///< As Options::visible.
  /// What the choice must keep: `fast` where every choice gives the same bits.
  Determinism determinism = Determinism::fast;
  /// As Call::own_counts. Then nothing here but the three below may differ between ranks.
  bool own_counts = false;
  OwnCounts own{};  ///< The counts that this rank knows.

  /// Bytes of all blocks together; a guess that is equal on all ranks where each knows its own
  /// only.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// Whether only algorithms that keep operand order will do.
  [[nodiscard]] bool needs_order() const noexcept { return op != nullptr && !op->commutative(); }
};

}  // namespace tutti::v0::detail
