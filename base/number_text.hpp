/// @file
/// Numbers as texts, in the same way on all ranks: the locale of a program, which std::to_string,
/// printf and streams obey, changes nothing.
#pragma once

#include <array>
#include <charconv>
#include <string>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// @return a number with `digits` digits after the point, such as "0.500000".
[[nodiscard]] inline std::string fixed_text(double value, int digits = 6) {
  std::array<char, 400> text{};  // enough for the largest number
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value,
                                     std::chars_format::fixed, digits)
                           .ptr};
}

/// @return a number with at most `digits` digits, such as "1.5e+09".
[[nodiscard]] inline std::string rounded_text(double value, int digits) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value,
                                     std::chars_format::general, digits)
                           .ptr};
}

/// @return the shortest text from which the same number is read.
[[nodiscard]] inline std::string shortest_text(double value) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// @return a letter of ASCII in lower case; another one as it is.
[[nodiscard]] constexpr char lower_case(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace tutti::v0::detail
