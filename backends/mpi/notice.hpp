/// @file
/// Abort notices, by which ranks inform each other that a transport failed, and why.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ranks.hpp"

namespace tutti::v0::mpi {

/// The message of a notice, about the first cause of the failure.
struct Notice {
  ErrorCode code{};
  Rank culprit = -1;
  std::uint32_t length = 0;      ///< Bytes of the text.
  std::array<char, 512> text{};  ///< Not terminated. Longer texts are cut.
};

/// @return the notice of a failure.
[[nodiscard]] Notice make_notice(const Error& cause) noexcept;

/// Looks for a notice without waiting. @param ranks of the transport. @return Error{aborted} with
/// the first cause's text, kind and culprit, if a rank has failed.
[[nodiscard]] std::optional<Error> find_notice(const Ranks& ranks);

/// @return the tag of notices; transfers use smaller ones.
[[nodiscard]] inline int notice_tag(const Ranks& ranks) noexcept {
  return ranks.tag_limit;
}

}  // namespace tutti::v0::mpi
