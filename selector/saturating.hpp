/// @file
/// Saturating arithmetic on numbers that are not negative.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// The largest sum or product.
inline constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

/// @return a * b.
[[nodiscard]] constexpr std::int64_t times(std::int64_t a, std::int64_t b) noexcept {
  return a != 0 && b > kGreatest / a ? kGreatest : a * b;
}
/// @return a + b.
[[nodiscard]] constexpr std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
  return b > kGreatest - a ? kGreatest : a + b;
}
/// @return ceil(bytes * share / whole), without overflow in between.
[[nodiscard]] constexpr std::int64_t share_of(std::size_t bytes, std::int64_t share,
                                              std::int64_t whole) noexcept {
  const auto length = static_cast<std::int64_t>(std::min<std::size_t>(bytes, kGreatest));
  const std::int64_t rest = times(length % whole, share);
  return plus(times(length / whole, share), rest / whole + (rest % whole == 0 ? 0 : 1));
}

}  // namespace tutti::v0::detail
