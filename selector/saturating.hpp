/// @file
/// Arithmetic on numbers that are never negative, which ends at the greatest one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// What sums and products end at.
inline constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

/// @param a factor. @param b another. @return their product.
[[nodiscard]] constexpr std::int64_t times(std::int64_t a, std::int64_t b) noexcept {
  return a != 0 && b > kGreatest / a ? kGreatest : a * b;
}
/// @param a summand. @param b another. @return their sum.
[[nodiscard]] constexpr std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  return b > kGreatest - a ? kGreatest : a + b;
}
/// @param bytes of a vector. @param share how many parts of it. @param whole into how many it is
/// cut. @return ceil(bytes * share / whole), without overflow in between.
[[nodiscard]] constexpr std::int64_t share_of(std::size_t bytes, std::int64_t share,
                                              std::int64_t whole) noexcept {
  const auto length = static_cast<std::int64_t>(std::min<std::size_t>(bytes, kGreatest));
  const std::int64_t rest = times(length % whole, share);
  return plus(times(length / whole, share), rest / whole + (rest % whole == 0 ? 0 : 1));
}

}  // namespace tutti::v0::detail
