/// @file
/// Names of types, so that ranks can compare them.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tutti/flat.hpp>

namespace tutti::v0 {

namespace detail {

/// The compiler's name for this function ends with "T = NAME]", or, with g++, "T = NAME; ...]".
template <class T>
[[nodiscard]] constexpr auto spelled() noexcept {
  const std::string_view words = __PRETTY_FUNCTION__;
  const std::string_view before = "T = ";
  const std::size_t begin = words.find(before) + before.size();
  return words.substr(begin, words.size() - begin - 1);
}

}  // namespace detail

/// The name of a type, as the compiler spells it. Specialise it if ranks are built by compilers
/// that spell it differently.
template <class T>
inline constexpr std::string_view type_name = detail::spelled<T>();

namespace detail {

/// How deep containers are inspected: some claim to contain themselves.
inline constexpr int kDeepestContainer = 8;

/// Distinguishes layouts for copied bytes: of a flat type, and of the types in a container or a
/// pair. Zero if only codecs write the object.
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

/// A hash by which ranks compare types: FNV-1a of the name and, since programs may have different
/// types of one name, of the size and alignment of parts that are copied as bytes.
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
