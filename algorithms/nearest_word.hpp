/// @file
/// The nearest word, for typing errors.
#pragma once

#include <span>
#include <string_view>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// @param word as written. @param choices what would be right. @return the choice fewest edits
/// away, or nothing where none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view word,
                                            std::span<const std::string_view> choices);

}  // namespace tutti::v0
