/// @file
/// Names of types, so that ranks can tell whether they speak of the same one.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tutti/flat.hpp>

namespace tutti::v0 {

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

namespace detail {

/// How deep containers are looked into: some are said to contain themselves.
inline constexpr int kDeepestContainer = 8;

/// Tells layouts apart under which copied bytes mean different things: that of a flat type, and of
/// those that a container or a pair consists of. Zero where only codecs say what becomes of an
/// object.
template <class T, int depth = 0>
[[nodiscard]] constexpr std::uint64_t copied_layout() noexcept {
  if constexpr (Copied<T>) {
    return std::uint64_t{sizeof(T)} << 16 | alignof(T);
  } else if constexpr (depth == kDeepestContainer) {
    return 0;
  } else if constexpr (requires { typename T::value_type; }) {
    return copied_layout<std::remove_cv_t<typename T::value_type>, depth + 1>();
  } else if constexpr (requires {
                         typename T::first_type;
                         typename T::second_type;
                       }) {
    return copied_layout<std::remove_cv_t<typename T::first_type>, depth + 1>() * 31 +
           copied_layout<std::remove_cv_t<typename T::second_type>, depth + 1>();
  } else {
    return 0;
  }
}

}  // namespace detail

/// A hash by which ranks tell whether they mean the same type: FNV-1a of its name and, as programs
/// may have different types of one name, of the size and alignment of what is copied as bytes.
/// @tparam T any type that can be moved between ranks. @return the hash.
template <class T>
[[nodiscard]] constexpr std::uint64_t type_fingerprint() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  for (const char letter : type_name<T>) add(static_cast<unsigned char>(letter));
  for (std::uint64_t layout = detail::copied_layout<T>(); layout != 0; layout >>= 8)
    add(layout & 0xff);
  return hash;
}

}  // namespace tutti::v0
