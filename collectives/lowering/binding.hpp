/// @file
/// A binding, which all calls of one shape share, and the arrays of one run.
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

/// The choice for a shape and its programs, which all calls of this shape share.
struct Binding {
  std::unique_ptr<Programs> programs{};  ///< The operations of this rank.
  OperatorKind op{};                     ///< Meaningful if the collective reduces.
  Datatype type{};
  std::size_t element_bytes = 1;  ///< Bytes of one element.
  std::size_t segments = 1;       ///< Segments of the vector.
  std::size_t segment_bytes = 0;  ///< Length that was asked for; 0 if the vector is not cut.
  std::string algorithm{};        ///< With its parameters.
  std::uint8_t route = 0;         ///< As Transfer::route.
  std::uint64_t fingerprint = 0;  ///< Hash of all that ranks must agree on, except the number.
  bool is_scaled = false;         ///< Whether places have exponents, see Place.
  std::string_view name{};        ///< Name of the call, such as "all_reduce".
  bool is_collective = true;      ///< False for a point-to-point call.
  bool has_own_counts = false;    ///< As Call::own_counts.
  /// Whether all ranks may end the call although they disagree about it, with a message left over.
  bool may_leave_unmatched = false;
  bool is_visible = false;  ///< Whether it is lowered for memory that peers see, on streams.
  std::optional<NativeCall> native{};  ///< A call of a library, in place of programs.
  bool accepts_shorter = false;        ///< Whether a message of one block may be shorter.
  bool awaits_all = false;             ///< Whether no rank ends it before all have begun it.

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

/// @param combination of a program of the binding. @return the fold that does it, without the
/// addresses and exponents of its operands.
[[nodiscard]] inline Fold fold_of(const Binding& binding, const Operator& op,
                                  const Combination& combination) noexcept {
  return {.type = binding.type,
          .element_bytes = binding.element_bytes,
          .op = &op,
          .count = combination.count,
          .divisor = combination.finish ? binding.layout().contract().size : 1,
          .divisor_exponent = combination.finish ? -combination.destination.exponent : 0};
}

/// Sets the exponents of a fold: the powers of two by which its operands are multiplied.
/// @param places the operands. @param exponents one per operand.
void set_exponents(const Combination& combination, std::span<const Place> places,
                   std::span<std::int8_t> exponents) noexcept;

}  // namespace tutti::v0::detail
