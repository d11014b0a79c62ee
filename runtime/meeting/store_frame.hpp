/// @file
/// The messages between ranks and the store, after authentication.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/sockets/fields.hpp"

namespace tutti::runtime::frame {

/// The type of a frame's content.
enum class ContentType : std::uint32_t {
  host = 1,      ///< From a rank, once: the name of its host.
  value = 2,     ///< From a rank: its value in this round.
  gathered = 3,  ///< From rank 0: the values of all ranks, as texts in their order.
  failure = 4,   ///< From rank 0: the error of the world.
  ended = 5,     ///< From a launcher on behalf of a rank: how the rank ended.
};

/// The start of a frame.
struct Header {
  ContentType kind;
  std::uint32_t length;        ///< Bytes of the content.
  std::uint32_t round;         ///< The number of the all_gather, from 0.
  std::uint32_t milliseconds;  ///< In a value, the time until the rank's deadline.
};
static_assert(sizeof(Header) == 16);

/// Limits that are checked before memory is allocated.
inline constexpr std::size_t kLongestHost = 255;
inline constexpr std::size_t kLongestEnd = 255;
inline constexpr std::size_t kLongestValue = std::size_t{64} * 1024;
inline constexpr std::size_t kLongestTotal = std::size_t{64} * 1024 * 1024;
inline constexpr std::size_t kLongestFailure = std::size_t{8} * 1024;

/// @param header without a length. @return a whole frame.
[[nodiscard]] inline std::string make(Header header, std::string_view content) {
  header.length = static_cast<std::uint32_t>(content.size());
  std::string frame;
  frame.reserve(sizeof header + content.size());
  write_field(frame, header);
  return frame.append(content);
}

/// @return a whole frame of ContentType::failure.
[[nodiscard]] inline std::string make_failure(std::uint32_t round, const Error& error) {
  std::string content;
  write_error(content, error);
  return make({ContentType::failure, 0, round, 0}, content);
}

[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

}  // namespace tutti::runtime::frame
