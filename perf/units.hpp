/// @file
/// Numbers as users write them on the command line: 64K, 200ms, 5%.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_text.hpp"

namespace tutti::perf {

using v0::detail::parse_bytes;

/// Reads "2", "1.5s", "200ms", "50us", "2m"; seconds without a unit. @return nothing if the syntax
/// is wrong.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

/// Reads "10%" or "0.1". @return nothing if the syntax is wrong.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

/// @return a text that parse_bytes reads: "64K", or "1000" if it is no multiple.
[[nodiscard]] std::string format_bytes(std::size_t bytes);

/// @return about three digits, such as "0.87", "43.1" or "1234".
[[nodiscard]] std::string format_us(double microseconds);

/// @return a time for people, such as "12s" or "3m 20s".
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace tutti::perf
