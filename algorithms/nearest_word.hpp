/// @file
/// The nearest word, for typing errors.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// @param word as written. @return the choice with the fewest edits, or empty if none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view word,
                                            std::span<const std::string_view> choices);

/// @param word as written. @return all choices with the fewest edits, or none if none is near.
[[nodiscard]] std::vector<std::string_view> nearest_words(
    std::string_view word, std::span<const std::string_view> choices);

}  // namespace tutti::v0
