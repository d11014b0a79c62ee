/// @file
/// The tests' own model of elements and operators: values for every rank and index, and the result
/// of a reduction computed in wide types. No kernel of tutti is used.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <tutti/operators.hpp>

namespace tutti::harness {

/// A kind of element with an operator. Values are chosen so that results are exact in any order of
/// evaluation: whole numbers that cannot overflow a fraction, powers of two in products.
struct Model {
  /// Writes the values [first, first + count) of one rank's vector.
  using Fill = std::function<void(Rank rank, std::size_t first, std::size_t count, void* to)>;
  /// Reduces the operands, given in the order of ranks, from left to right.
  using Reduce =
      std::function<void(std::span<const void* const> operands, std::size_t count, void* result)>;
  /// @return the first element that differs, or count.
  using Compare =
      std::function<std::size_t(const void* got, const void* wanted, std::size_t count)>;

  std::string name{};              ///< Such as "f32_sum".
  Datatype type = Datatype::u8;    ///< The call's datatype.
  std::size_t element_bytes = 1;   ///< The call's.
  Operator op{OperatorKind::sum};  ///< The call's.
  Fill fill{};                     ///< See Fill.
  Reduce reduce{};                 ///< See Reduce.
  Compare differ{};                ///< See Compare.
};

/// How GoogleTest shows a model. @param model which. @param stream where.
inline void PrintTo(const Model& model, std::ostream* stream) {
  *stream << model.name;
}

/// @param type any but opaque. @param kind an operator defined for it. @return the model.
[[nodiscard]] Model model_of(Datatype type, OperatorKind kind);
/// @return a model for every pair of datatype and built-in operator that fit.
[[nodiscard]] const std::vector<Model>& all_models();
/// Integer maps x -> a x + b modulo 2^32 under composition: associative, not commutative.
/// @param claim what the operator claims about exchanging operands. @return the model.
[[nodiscard]] Model affine_model(bool claim = false);
/// Bytes under an exclusive or of the user's own: a commutative operator on opaque elements.
/// @param element_bytes of one element, any number but zero. @return the model.
[[nodiscard]] Model opaque_model(std::size_t element_bytes);

/// A mixing function, for values that differ between all ranks and indices.
/// @param rank of the value. @param index of the value. @return 64 well-mixed bits.
[[nodiscard]] std::uint64_t mix(Rank rank, std::size_t index) noexcept;

}  // namespace tutti::harness
