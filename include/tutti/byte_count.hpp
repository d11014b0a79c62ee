/// @file
/// Bytes of arrays, without overflow.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// @param element_bytes 1 or more.
/// @return the most elements of an array: differences of its addresses are a std::ptrdiff_t.
[[nodiscard]] constexpr std::size_t most_elements(std::size_t element_bytes) noexcept {
  return static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / element_bytes;
}

/// @return the bytes of `count` elements; nothing if that is more than any array has.
[[nodiscard]] constexpr std::optional<std::size_t> byte_count(std::size_t count,
                                                              std::size_t element_bytes) noexcept {
  if (element_bytes > 0 && count > most_elements(element_bytes)) return std::nullopt;
  return count * element_bytes;
}

}  // namespace tutti::v0::detail
