/// @file
/// Numbers and texts as bytes, in peer info and frames. Reading checks every length first.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// Appends a number or a struct of numbers.
template <class Plain>
void put(std::string& bytes, const Plain& plain) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  const std::size_t size = bytes.size();
  bytes.resize(size + sizeof plain);
  std::memcpy(bytes.data() + size, &plain, sizeof plain);
}
/// Appends a text after its length.
inline void put_text(std::string& bytes, std::string_view text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.append(text);
}

/// Reads a value, for which all bytes must be valid, and removes it from the front. Throws
/// Error{transport} if there are too few bytes.
template <class Plain>
[[nodiscard]] Plain take(std::string_view& bytes) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  static_assert(!std::is_same_v<Plain, bool> && !std::is_enum_v<Plain>, "not all bytes are one");
  if (bytes.size() < sizeof(Plain))
    throw Error{ErrorCode::transport, "a rank sent a message that is too short"};
  Plain plain;
  std::memcpy(&plain, bytes.data(), sizeof plain);
  bytes.remove_prefix(sizeof plain);
  return plain;
}
/// Reads a text and removes it from the front. @return it, as a part of bytes. Throws
/// Error{transport} if there are too few bytes.
[[nodiscard]] inline std::string_view take_text(std::string_view& bytes) {
  const auto length = take<std::uint32_t>(bytes);
  if (length > bytes.size())
    throw Error{ErrorCode::transport, "a rank sent a message that is too short"};
  const std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return text;
}

/// Appends an error. A long message is cut.
inline void put_error(std::string& bytes, const Error& error) {
  constexpr std::size_t kLongest = 4096;
  put(bytes, static_cast<std::uint8_t>(error.code()));
  put(bytes, static_cast<std::int32_t>(error.culprit()));
  put_text(bytes, std::string_view{error.what()}.substr(0, kLongest));
}
/// Reads an error and removes it from the front. Throws Error{transport} if there are too few
/// bytes.
[[nodiscard]] inline Error take_error(std::string_view& bytes) {
  const auto code = take<std::uint8_t>(bytes);
  const auto culprit = take<std::int32_t>(bytes);
  const std::string message{take_text(bytes)};
  constexpr auto kLast = static_cast<std::uint8_t>(ErrorCode::bug);
  return {code > kLast ? ErrorCode::transport : static_cast<ErrorCode>(code), message, culprit};
}

}  // namespace tutti::runtime
