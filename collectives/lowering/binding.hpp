/// @file
/// A binding: what all calls of one shape share, and what one run of it reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tutti/spi/memory.hpp>
#include <tutti/spi/streams.hpp>

#include "lowering.hpp"

namespace tutti::v0::detail {

/// A shape that has been chosen for and bound: everything that calls of this shape share.
struct Binding {
  std::unique_ptr<Programs> programs{};  ///< The operations of this rank.
  OperatorKind op{};                     ///< Meaningful if the collective reduces.
  Datatype type{};                       ///< Of the elements.
  std::size_t element_bytes = 1;         ///< Of one element.
  std::size_t segments = 1;              ///< Pieces the vector is run in.
  std::size_t segment_bytes = 0;         ///< As asked; 0 if whole.
  std::string algorithm{};               ///< With parameters.
  std::uint8_t route = 0;                ///< As Transfer::route.
  std::uint64_t fingerprint = 0;         ///< Of all that must be equal on all ranks but the number.
  bool is_scaled = false;                ///< Whether places have exponents, see Place.
  std::string_view name{};               ///< Name of the call, such as "all_reduce".
  bool is_collective = true;             ///< Else it is messages between two ranks.
  bool has_own_counts = false;           ///< As Call::own_counts.
  /// Whether ranks that call it differently may all end, with messages left over.
  bool may_leave_unmatched = false;
  bool is_visible = false;  ///< Whether it is lowered for memory that peers see, on streams.
  std::optional<NativeCall> native{};  ///< A call of a library, in place of programs.
  bool awaits_all = false;             ///< Whether no rank ends it before all have begun it.

  /// @return sizes and places.
  [[nodiscard]] const Layout& layout() const noexcept { return programs->layout(); }
  [[nodiscard]] bool is_barrier() const noexcept {
    return is_collective && layout().contract().collective == Collective::barrier;
  }
};

/// The arrays of a run. Passed by value, in registers.
struct RunBuffers {
  const void* in = nullptr;
  void* out = nullptr;
};

/// @return whether a run's input and output share memory.
[[nodiscard]] bool is_in_place(const Binding& binding, RunBuffers buffers) noexcept;

/// @param op of the call. @param combination of a program of the binding. @return how its operands
/// are combined, without their addresses and exponents.
[[nodiscard]] inline Fold fold_of(const Binding& binding, const Operator& op,
                                  const Combination& combination) noexcept {
  return {.type = binding.type,
          .element_bytes = binding.element_bytes,
          .op = &op,
          .count = combination.count,
          .divisor = combination.finish ? binding.layout().contract().size : 1,
          .divisor_exponent = combination.finish ? -combination.destination.exponent : 0};
}

/// @param combination any. @param places its operands. @param exponents as many, which are set to
/// those of a fold: by what powers of two the operands are multiplied.
void set_exponents(const Combination& combination, std::span<const Place> places,
                   std::span<std::int8_t> exponents) noexcept;

}  // namespace tutti::v0::detail
