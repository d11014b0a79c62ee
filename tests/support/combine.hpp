/// @file
/// Operators on two numbers, by plain arithmetic, for oracles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <tutti/types.hpp>

namespace tutti::test {

/// @tparam T an integer type. @return the result of an operator; of an average, the sum.
template <class T>
[[nodiscard]] T combine_integers(OperatorKind kind, T a, T b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (kind) {
    case OperatorKind::sum:
    case OperatorKind::average: return static_cast<T>(x + y);
    case OperatorKind::prod: return static_cast<T>(x * y);
    case OperatorKind::min: return std::min(a, b);
    case OperatorKind::max: return std::max(a, b);
    case OperatorKind::logical_and: return a != 0 && b != 0;
    case OperatorKind::logical_or: return a != 0 || b != 0;
    case OperatorKind::logical_xor: return (a != 0) != (b != 0);
    case OperatorKind::bit_and: return static_cast<T>(x & y);
    case OperatorKind::bit_or: return static_cast<T>(x | y);
    case OperatorKind::bit_xor: return static_cast<T>(x ^ y);
    case OperatorKind::min_loc:
    case OperatorKind::max_loc:
    case OperatorKind::user: break;  // not defined for integers
  }
  return a;
}

/// Rounds once: in double, a sum, product or quotient of two floats rounds to float as if it had
/// been exact. For double itself the operation is the definition; volatile keeps each one apart
/// from the next.
template <class T, class Wide>
[[nodiscard]] T rounded(Wide value) {
  const volatile T result = static_cast<T>(value);
  return result;
}

/// @tparam T float, double or long double. @return as combine_integers.
template <class T>
[[nodiscard]] T combine_reals(OperatorKind kind, T a, T b) {
  using Wide = std::common_type_t<T, double>;
  const bool a_is_less = a < b || (a == b && std::signbit(a));
  switch (kind) {
    case OperatorKind::sum:
    case OperatorKind::average: return rounded<T>(Wide{a} + Wide{b});
    case OperatorKind::prod: return rounded<T>(Wide{a} * Wide{b});
    case OperatorKind::min: return std::isnan(a) || (!std::isnan(b) && a_is_less) ? a : b;
    case OperatorKind::max: return std::isnan(a) || (!std::isnan(b) && !a_is_less) ? a : b;
    case OperatorKind::min_loc:
    case OperatorKind::max_loc:
    case OperatorKind::logical_and:
    case OperatorKind::logical_or:
    case OperatorKind::logical_xor:
    case OperatorKind::bit_and:
    case OperatorKind::bit_or:
    case OperatorKind::bit_xor:
    case OperatorKind::user: break;  // not defined for real numbers
  }
  return a;
}

}  // namespace tutti::test
