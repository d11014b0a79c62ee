/// @file
/// Names of types, so that ranks can tell whether they speak of the same one.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti {

namespace detail {

/// The compiler's own words for this function end with "T = NAME]", or, of g++, "T = NAME; ...]".
template <class T>
[[nodiscard]] constexpr auto spelled() noexcept {
  const std::string_view words = __PRETTY_FUNCTION__;
  const std::string_view before = "T = ";
  const std::size_t begin = words.find(before) + before.size();
  return words.substr(begin, words.size() - begin - 1);
}

}  // namespace detail

/// The name of a type, as the compiler spells it. Specialise it where ranks are built by compilers
/// that spell it differently. @tparam T any type.
template <class T>
inline constexpr std::string_view type_name = detail::spelled<T>();

/// A hash of a type's name, by which ranks tell whether they mean the same type: FNV-1a.
/// @tparam T any type. @return the hash.
template <class T>
[[nodiscard]] constexpr std::uint64_t type_fingerprint() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : type_name<T>)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return hash;
}

}  // namespace tutti
