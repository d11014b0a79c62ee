/// @file
/// Numbers as people write them on the command line: 64K, 200ms, 5%.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::perf {

/// Reads "8", "64K", "4M", "1G" (also "64KiB"): binary multiples. @param text what was written.
/// @return the bytes, or nothing if the syntax is wrong or the number does not fit.
[[nodiscard]] std::optional<std::size_t> parse_bytes(std::string_view text);

/// Reads "2", "1.5s", "200ms", "50us", "2m". @param text what was written; seconds without a unit.
/// @return seconds, or nothing if the syntax is wrong.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

/// Reads "10%" or "0.1". @param text what was written. @return the share, or nothing.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

/// @param bytes a number of bytes. @return as parse_bytes reads it: "64K", or "1000" if no
/// multiple.
[[nodiscard]] std::string format_bytes(std::size_t bytes);

/// @param microseconds a time. @return it with about three digits, such as "0.87", "43.1" or
/// "1234".
[[nodiscard]] std::string format_us(double microseconds);

/// @param seconds a time. @return for people, such as "12s" or "3m 20s".
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace tutti::perf
