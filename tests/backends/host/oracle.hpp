/// @file
/// The expected result of a fold, computed one number at a time in types wider than the element. It
/// shares no code with the kernels, and none with the conversions of <tutti/float16.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/operators.hpp>

namespace tutti::test {

/// One fold to check.
struct FoldCase {
  Datatype type;                         ///< Any but opaque.
  OperatorKind kind;                     ///< One defined for the type.
  int divisor = 1;                       ///< As Fold::divisor.
  std::vector<std::int8_t> exponents{};  ///< As Fold::exponents.
  int divisor_exponent = 0;              ///< As Fold::divisor_exponent.
};

/// A 16-bit floating-point format, described by its two field widths.
struct HalfFormat {
  int exponent_bits;  ///< 5 for binary16, 8 for bfloat16.
  int fraction_bits;  ///< 10 for binary16, 7 for bfloat16.
};

inline constexpr HalfFormat kBinary16{5, 10};  ///< The format of Float16.
inline constexpr HalfFormat kBrain16{8, 7};    ///< The format of BFloat16.

/// Decodes by the definition. @param format the format. @param bits the encoding.
/// @return the value; a NaN for any NaN.
[[nodiscard]] double decode_half(HalfFormat format, std::uint16_t bits);

/// Encodes by searching for the nearest value. @param format the format. @param value the number.
/// @return the encoding; ties go to the even one, any NaN to the quiet NaN without sign or payload.
[[nodiscard]] std::uint16_t encode_half(HalfFormat format, double value);

/// @param which the case. @param operands one element of each operand. @param out the result.
void expected_element(const FoldCase& which, std::span<const std::byte* const> operands,
                      std::byte* out);

/// Elements that hurt: random ones mixed with extremes, zeros of either sign, infinities, NaNs with
/// payloads, subnormals and equal values. @param type their type. @param count how many.
/// @param seed another seed, other elements. @return their bytes.
[[nodiscard]] std::vector<std::byte> hard_elements(Datatype type, std::size_t count,
                                                   std::uint64_t seed);

/// @return every built-in operator that is_defined allows for the type. @param type the type.
[[nodiscard]] std::vector<OperatorKind> operators_of(Datatype type);

}  // namespace tutti::test
