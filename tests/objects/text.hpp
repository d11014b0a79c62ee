/// @file
/// An object with a codec of its own: a text of any length, which may refuse to become bytes, or to
/// come back from them.
#pragma once

#include <stdexcept>
#include <string>

#include <tutti/codec.hpp>

namespace tutti::samples {

/// @copydoc text.hpp
struct Text {
  std::string words{};
  friend bool operator==(const Text&, const Text&) = default;
};

/// Texts that cannot be moved.
inline const Text kUnwritable{"unwritable"};
inline const Text kUnreadable{"unreadable"};

/// Lengths around what fits into a frame, and far beyond.
inline constexpr std::size_t kLengths[] = {8,    9,    207,  208,  209,  256,
                                           1231, 1232, 1233, 1280, 3000, 20000};

/// @param bytes of its encoding, at least eight. @param seed another one gives another text.
/// @return a text.
[[nodiscard]] inline Text text_of(std::size_t bytes, std::size_t seed) {
  Text text{std::string(bytes - 8, ' ')};
  for (std::size_t i = 0; i < text.words.size(); ++i)
    text.words[i] = static_cast<char>('a' + (i * 7 + i / 100 + seed * 13) % 26);
  return text;
}

}  // namespace tutti::samples

/// Length and letters.
template <>
struct tutti::Codec<tutti::samples::Text> {
  static void encode(Encoder& to, const samples::Text& text) {
    if (text == samples::kUnwritable) throw std::runtime_error{"there is no ink"};
    to.put_count(text.words.size());
    to.write(text.words.data(), text.words.size());
  }
  static void decode(Decoder& from, samples::Text& text) {
    const std::size_t count = from.get_count();
    text.words.assign(reinterpret_cast<const char*>(from.pop(count)), count);
    if (text == samples::kUnreadable) throw std::runtime_error{"there is no light"};
  }
};
