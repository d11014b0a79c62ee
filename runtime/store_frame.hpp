/// @file
/// What the store's ranks say to each other once they are authenticated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fields.hpp"

namespace tutti::runtime::frame {

/// What a frame holds.
enum class Kind : std::uint32_t {
  host = 1,      ///< From a rank, once: what its host is called.
  value = 2,     ///< From a rank: what it says in this round.
  gathered = 3,  ///< From rank 0: what everyone said, as texts in the order of ranks.
  failure = 4,   ///< From rank 0: an Error that ends the world.
  ended = 5,     ///< From a rank's launcher, in its place: how it ended, so that it will not come.
};

/// Starts a frame.
struct Header {
  Kind kind;
  std::uint32_t length;        ///< Of what follows.
  std::uint32_t round;         ///< Which all_gather, from 0.
  std::uint32_t milliseconds;  ///< Of a value: what is left until the rank's deadline.
};
static_assert(sizeof(Header) == 16);

/// Limits that are checked before anything is allocated.
inline constexpr std::size_t kLongestHost = 255;
inline constexpr std::size_t kLongestEnd = 255;
inline constexpr std::size_t kLongestValue = std::size_t{64} * 1024;
inline constexpr std::size_t kLongestTotal = std::size_t{64} * 1024 * 1024;
inline constexpr std::size_t kLongestFailure = std::size_t{8} * 1024;

/// @return a whole frame. @param header whose length is filled in. @param content what follows it.
[[nodiscard]] inline std::string make(Header header, std::string_view content) {
  header.length = static_cast<std::uint32_t>(content.size());
  std::string frame;
  frame.reserve(sizeof header + content.size());
  put(frame, header);
  return frame.append(content);
}

/// @return a whole frame of Kind::failure. @param round in which it is sent. @param error that ends
/// the world.
[[nodiscard]] inline std::string make_failure(std::uint32_t round, const Error& error) {
  std::string content;
  put_error(content, error);
  return make({Kind::failure, 0, round, 0}, content);
}

/// @return the bytes of a text.
[[nodiscard]] inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

}  // namespace tutti::runtime::frame
