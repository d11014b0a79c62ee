/// @file
/// The cryptography of tutti, all of it OpenSSL's. It is implemented by cryptography_openssl.cpp; by
/// cryptography_loaded.cpp in the drop-in; by cryptography_none.cpp in a build without OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace tutti::runtime {

/// The length of a secret, of a nonce and of a message's code.
inline constexpr std::size_t kDigestBytes = 32;
/// A secret, a nonce or a code.
using Digest = std::array<std::byte, kDigestBytes>;

/// @return whether this build can authenticate peers.
[[nodiscard]] bool has_cryptography() noexcept;
/// @return whether the first use loads OpenSSL, so that ranks do without it where they can.
[[nodiscard]] bool loads_cryptography() noexcept;
/// Computes HMAC-SHA256. @param pieces of the message, in order. Throws Error{transport} if OpenSSL
/// fails, Error{bug} without OpenSSL.
[[nodiscard]] Digest message_code(const Digest& key,
                                  std::initializer_list<std::span<const std::byte>> pieces);
/// Compares two codes in a time that does not depend on their contents.
[[nodiscard]] bool equal_codes(const Digest& a, const Digest& b) noexcept;
/// @return 32 unpredictable bytes. Throws Error{transport} if the system has none.
[[nodiscard]] Digest random_digest();
/// Overwrites a secret, with a write that compilers do not remove.
void wipe(Digest& secret) noexcept;

}  // namespace tutti::runtime
