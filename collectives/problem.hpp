/// @file
/// What is asked of a communicator: checked arguments without any pointer to data.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <tutti/call.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

#include "layout.hpp"

namespace tutti::inline v0::detail {

/// A checked call. Equal on all ranks if they called alike. Views live as long as the call.
struct Problem {
  Contract contract{};
  Datatype type = Datatype::u8;
  std::size_t element_bytes = 1;
  const Operator* op = nullptr;           ///< Null where nothing is reduced.
  std::size_t count = 0;                  ///< Elements per block, where blocks are equal.
  std::span<const std::size_t> counts{};  ///< Elements per block, where they differ.
  std::string_view algorithm{};           ///< Forced choice, or empty.
  std::size_t segment = 0;                ///< As Options::segment.
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

/// Checks a call made on rank `self` of `size`. Throws Error{invalid_argument}.
/// @return what it asks.
[[nodiscard]] Problem check(const Call& call, const Options& options, Rank self, int size);

/// The layout of a problem's buffers on one rank.
[[nodiscard]] Layout layout_of(const Problem& problem, Rank self);

/// Checks only where buffers lie. Throws Error{invalid_argument} that begins with the call's name.
void check_buffers(std::string_view name, const Layout& layout, std::size_t element_bytes,
                   const void* in, const void* out);
/// Refuses an enumerator that there is not, as a call made by hand may name it, likewise.
/// @param what such as "datatype". @param value of the enumerator. @param count of all there are.
void check_enumerator(std::string_view name, std::string_view what, int value, int count);
/// Refuses a timeout that is less than zero, likewise.
void check_timeout(std::string_view name, Duration timeout);
/// Refuses an element that cannot be, likewise.
void check_elements(std::string_view name, const Call& call);

}  // namespace tutti::inline v0::detail
