/// @file
/// A checked call: its arguments without pointers to data.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <tutti/call.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

namespace tutti::v0::detail {

/// The sizes of blocks that a rank knows, if each rank knows only its own.
struct OwnCounts {
  std::span<const std::size_t> in{};   ///< Counts of the input's blocks.
  std::span<const std::size_t> out{};  ///< Counts of the output's blocks.
};

/// A checked call. Equal on all ranks if they called alike. Views live as long as the call.
struct Problem {
  Contract contract{};
  Datatype type = Datatype::u8;
  std::size_t element_bytes = 1;
  const Operator* op = nullptr;           ///< Null if nothing is reduced.
  std::size_t count = 0;                  ///< Elements per block, if blocks are equal.
  std::span<const std::size_t> counts{};  ///< Elements per block, if they differ.
  std::string_view algorithm{};           ///< Forced choice, or empty.
  std::string_view transport{};           ///< As Options::transport.
  std::size_t segment = 0;                ///< As Options::segment.
  std::string_view name{};                ///< As CallName, or empty.
  bool visible = false;                   ///< As Options::visible.
  /// The required determinism: `fast` if every choice gives the same bits.
  Determinism determinism = Determinism::fast;
  bool accepts_shorter = false;  ///< As CommunicatorOptions::accepts_shorter.
  /// As Call::own_counts. Then `own` differs between ranks, and no other member does.
  bool own_counts = false;
  OwnCounts own{};  ///< The counts that this rank knows.

  /// @return bytes of all blocks together. With own_counts a guess, equal on all ranks.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// @return whether the algorithm must keep operand order.
  [[nodiscard]] bool needs_order() const noexcept { return op != nullptr && !op->commutative(); }
};

}  // namespace tutti::v0::detail
