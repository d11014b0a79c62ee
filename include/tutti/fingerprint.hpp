/// @file
/// Fingerprints of messages: which call a message is of, in 63 bits.
#pragma once

#include <cstdint>

namespace tutti {

/// The upper half counts calls; so many have numbers of their own.
inline constexpr std::uint64_t kFingerprintCalls = std::uint64_t{1} << 31U;

/// @param summary hash of what must be equal on all ranks. @param call number on the communicator.
/// @return what all messages of the call have.
[[nodiscard]] constexpr std::uint64_t make_fingerprint(std::uint64_t summary,
                                                       std::uint64_t call) noexcept {
  // The finaliser of MurmurHash3, since the lower half must tell what the whole hash does.
  summary = (summary ^ (summary >> 33U)) * 0xff51afd7ed558ccdU;
  return call % kFingerprintCalls << 32U | summary >> 32U;
}

/// @param fingerprint of a message. @return the number of its call, below kFingerprintCalls.
[[nodiscard]] constexpr std::uint64_t call_of(std::uint64_t fingerprint) noexcept {
  return fingerprint >> 32U & (kFingerprintCalls - 1);
}

/// @param fingerprint of a message. @param call number of a call. @return whether the message is of
/// one before it, but not long before, since a rank that has nothing to wait for may be so far
/// ahead that numbers come again.
[[nodiscard]] constexpr bool is_before(std::uint64_t fingerprint, std::uint64_t call) noexcept {
  constexpr std::uint64_t kNotLong = 65536;
  const std::uint64_t distance = (call - call_of(fingerprint)) % kFingerprintCalls;
  return distance != 0 && distance <= kNotLong;
}

}  // namespace tutti
