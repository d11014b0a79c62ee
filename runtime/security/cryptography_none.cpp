// Without OpenSSL no peer is authenticated: no secret is generated or accepted, and secret.cpp
// keeps every listener on the loopback.
#include <sys/random.h>

#include <tutti/error.hpp>

#include "cryptography.hpp"

namespace tutti::runtime {

bool has_cryptography() noexcept {
  return false;
}

bool loads_cryptography() noexcept {
  return false;
}

Digest message_code(const Digest&, std::initializer_list<std::span<const std::byte>>) {
  throw Error{ErrorCode::bug, "tutti has a bug: a message code is asked for without OpenSSL"};
}

bool equal_codes(const Digest& a, const Digest& b) noexcept {
  return a == b;
}

Digest random_digest() {
  Digest digest;
  // The system returns up to 256 bytes at once.
  if (::getrandom(digest.data(), digest.size(), 0) != static_cast<ssize_t>(digest.size()))
    throw Error{ErrorCode::transport, "the system has no random bytes"};
  return digest;
}

void wipe(Digest& secret) noexcept {
  secret.fill(std::byte{0});
}

}  // namespace tutti::runtime
