/// @file
/// Numbers and texts in a row of bytes: what peer info and frames are made of. Taking checks every
/// length before it is used.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// Appends a plain value. @param bytes to append to. @param plain a number or a struct of numbers.
template <class Plain>
void put(std::string& bytes, const Plain& plain) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  const std::size_t size = bytes.size();
  bytes.resize(size + sizeof plain);
  std::memcpy(bytes.data() + size, &plain, sizeof plain);
}
/// Appends a text with its length in front. @param bytes to append to. @param text any bytes.
inline void put_text(std::string& bytes, std::string_view text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.append(text);
}

/// Takes a plain value off the front, any that these bytes can be. @param bytes what is left.
/// @return it. Throws Error{transport} if too few bytes are left.
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
/// Takes a text off the front. @param bytes what is left. @return it, as a part of bytes. Throws
/// Error{transport} if too few bytes are left.
[[nodiscard]] inline std::string_view take_text(std::string_view& bytes) {
  const auto length = take<std::uint32_t>(bytes);
  if (length > bytes.size())
    throw Error{ErrorCode::transport, "a rank sent a message that is too short"};
  const std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return text;
}

/// Appends an error, its message cut to a length. @param bytes to append to. @param error to tell.
inline void put_error(std::string& bytes, const Error& error) {
  constexpr std::size_t kLongest = 4096;
  put(bytes, static_cast<std::uint8_t>(error.code()));
  put(bytes, static_cast<std::int32_t>(error.culprit()));
  put_text(bytes, std::string_view{error.what()}.substr(0, kLongest));
}
/// Takes an error off the front. @param bytes what is left. @return it. Throws Error{transport} if
/// too few bytes are left.
[[nodiscard]] inline Error take_error(std::string_view& bytes) {
  const auto code = take<std::uint8_t>(bytes);
  const auto culprit = take<std::int32_t>(bytes);
  const std::string message{take_text(bytes)};
  constexpr auto kLast = static_cast<std::uint8_t>(ErrorCode::bug);
  return {code > kLast ? ErrorCode::transport : static_cast<ErrorCode>(code), message, culprit};
}

}  // namespace tutti::runtime
