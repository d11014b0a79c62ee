/// @file
/// The cryptography tutti needs, all of it OpenSSL's. One of two files implements it:
/// cryptography_openssl.cpp, or cryptography_none.cpp where tutti is built without OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace tutti::runtime {

/// Bytes of a secret, of a nonce and of a message's code.
inline constexpr std::size_t kDigestBytes = 32;
/// A secret, a nonce or a code.
using Digest = std::array<std::byte, kDigestBytes>;

/// @return whether this build can authenticate anybody.
[[nodiscard]] bool has_cryptography() noexcept;
/// HMAC-SHA256. @param key 32 bytes. @param pieces of the message, in order. @return the code.
/// Throws Error{transport} if OpenSSL refuses, Error{bug} without OpenSSL.
[[nodiscard]] Digest message_code(const Digest& key,
                                  std::initializer_list<std::span<const std::byte>> pieces);
/// @return whether two codes are equal, in a time that does not depend on where they differ.
[[nodiscard]] bool equal_codes(const Digest& a, const Digest& b) noexcept;
/// @return 32 bytes that nobody can guess. Throws Error{transport} if the system has none.
[[nodiscard]] Digest random_digest();
/// Overwrites a secret, also where a compiler thinks that nobody looks. @param secret to forget.
void forget(Digest& secret) noexcept;

}  // namespace tutti::runtime
