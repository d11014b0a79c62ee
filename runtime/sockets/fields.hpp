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
template <class Value>
void write_field(std::string& bytes, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::size_t size = bytes.size();
  bytes.resize(size + sizeof value);
  std::memcpy(bytes.data() + size, &value, sizeof value);
}
/// Appends a text after its length.
inline void write_text(std::string& bytes, std::string_view text) {
  write_field(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.append(text);
}

/// Reads a value, for which all bytes must be valid, and removes it from the front. Throws
/// Error{transport} if there are too few bytes.
template <class Value>
[[nodiscard]] Value read_field(std::string_view& bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  static_assert(!std::is_same_v<Value, bool> && !std::is_enum_v<Value>, "not all bytes are one");
  if (bytes.size() < sizeof(Value))
    throw Error{ErrorCode::transport, "a rank sent a message that is too short"};
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}
/// Reads a text and removes it from the front. @return it, as a part of bytes. Throws
/// Error{transport} if there are too few bytes.
[[nodiscard]] inline std::string_view read_text(std::string_view& bytes) {
  const auto length = read_field<std::uint32_t>(bytes);
  if (length > bytes.size())
    throw Error{ErrorCode::transport, "a rank sent a message that is too short"};
  const std::string_view text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return text;
}

/// Appends an error. A long message is cut.
inline void write_error(std::string& bytes, const Error& error) {
  constexpr std::size_t kLongest = 4096;
  write_field(bytes, static_cast<std::uint8_t>(error.code()));
  write_field(bytes, static_cast<std::int32_t>(error.culprit()));
  write_text(bytes, std::string_view{error.what()}.substr(0, kLongest));
}
/// Reads an error and removes it from the front. Throws Error{transport} if there are too few
/// bytes.
[[nodiscard]] inline Error read_error(std::string_view& bytes) {
  const auto code = read_field<std::uint8_t>(bytes);
  const auto culprit = read_field<std::int32_t>(bytes);
  const std::string message{read_text(bytes)};
  constexpr auto kLast = static_cast<std::uint8_t>(ErrorCode::bug);
  return {code > kLast ? ErrorCode::transport : static_cast<ErrorCode>(code), message, culprit};
}

}  // namespace tutti::runtime
