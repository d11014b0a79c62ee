/// @file
/// Calls that a rank does not make, since a layer above tutti has found their arguments wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tutti/call.hpp>
#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/spi/call_status.hpp>
#include <tutti/spi/fingerprint.hpp>

namespace tutti::v0 {

/// For layers that check arguments themselves, and make no call where they find wrong ones: the
/// call takes its place all the same, so that no call of another rank meets a later one of this
/// rank. If all ranks reject it nothing happens. Otherwise the communicator fails, and all ranks
/// get Error{mismatch} with the reason. Does not wait.
/// @param call only its kind counts, and, of a message, the other rank and the tag; a message of
/// any rank, or of a rank or a tag that does not exist, has no place. @param reason one sentence.
/// Throws Error{invalid_argument} within a batch, and the first failure of a failed communicator.
TUTTI_API void reject_call(Communicator& communicator, const Call& call, std::string_view reason);

namespace detail {

/// The upper half of the fingerprint that CallCounter gets for a rejected collective, which
/// distinguishes it from others.
inline constexpr std::uint64_t kRejection = 0x7e1ec7ed;
/// @param words the reason of the rejection. @return the fingerprint.
[[nodiscard]] constexpr std::uint64_t fingerprint_of_rejection(std::string_view words) noexcept {
  std::uint32_t hash = 0x811c9dc5U;  // FNV-1a
  for (const char byte : words) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x01000193U;
  return kRejection << 32U | hash;
}
/// @param fingerprint of CallStatus.
[[nodiscard]] constexpr bool is_rejection(std::uint64_t fingerprint) noexcept {
  return fingerprint >> 32U == kRejection;
}

/// CallCounter stores the message between two ranks that this rank has rejected last as a plan of
/// this number, which no plan has.
inline constexpr std::uint64_t kRejectedMessage = std::uint64_t{1} << 61U;
/// The elements of the message that goes in its place are larger than any.
inline constexpr std::size_t kRejectedBytes = (std::size_t{1} << 48U) - 1;
/// @return whether a message between two ranks is such a one.
[[nodiscard]] constexpr bool is_rejected_of_two(std::uint64_t fingerprint) noexcept {
  return fingerprint == fingerprint_of_two(Datatype::opaque, kRejectedBytes);
}

}  // namespace detail
}  // namespace tutti::v0
