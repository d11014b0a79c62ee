/// @file
/// Numbers of bytes as users write them.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// The letters of 1024, 1024^2 and so on.
inline constexpr std::string_view kMultiples = "KMGT";

/// Reads "8", "64K", "4M", "1G" (also "64KiB"): binary multiples. @return nothing if the syntax is
/// wrong or the number does not fit.
[[nodiscard]] inline std::optional<std::size_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return {};
  std::string_view unit{rest, static_cast<std::size_t>(end - rest)};
  if (unit.empty() || unit == "B") return number;
  const char letter = unit.front() == 'k' ? 'K' : unit.front();
  const std::size_t power = kMultiples.find(letter);
  unit.remove_prefix(1);
  if (power == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "iB")) return {};
  const auto shift = 10 * (power + 1);
  if (number > std::numeric_limits<std::uint64_t>::max() >> (shift + 1)) return {};
  return number << shift;
}

}  // namespace tutti::v0::detail
