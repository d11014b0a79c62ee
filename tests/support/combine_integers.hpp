/// @file
/// Operators on two integers, by plain arithmetic, for oracles.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace tutti::test
