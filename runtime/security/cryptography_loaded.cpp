// OpenSSL's functions for a library that is loaded into programs of others: the first use loads
// OpenSSL, so that a program without use has none beside its own.
#include <dlfcn.h>
#include <sys/random.h>

#include <cstring>
#include <vector>

#include <tutti/error.hpp>

#include "cryptography.hpp"
#include "require.hpp"

namespace tutti::runtime {
namespace {

/// Functions that OpenSSL 1.1 and 3 have.
struct Functions {
  const void* (*sha256)() = nullptr;
  unsigned char* (*hmac)(const void* digest, const void* key, int key_bytes,
                         const unsigned char* data, std::size_t bytes, unsigned char* code,
                         unsigned* code_bytes) = nullptr;
  int (*compare)(const void*, const void*, std::size_t) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function*& function) noexcept {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

Functions load() noexcept {
  Functions found;
  for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1"})
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      if (find(library, "EVP_sha256", found.sha256) && find(library, "HMAC", found.hmac) &&
          find(library, "CRYPTO_memcmp", found.compare))
        return found;
  return {};
}

const Functions& functions() noexcept {
  static const Functions loaded = load();
  return loaded;
}

}  // namespace

// A use without OpenSSL is an error.
bool has_cryptography() noexcept {
  return true;
}

bool loads_cryptography() noexcept {
  return true;
}

Digest message_code(const Digest& key, std::initializer_list<std::span<const std::byte>> pieces) {
  std::vector<std::byte> message;
  for (const auto piece : pieces) message.insert(message.end(), piece.begin(), piece.end());
  Digest code;
  unsigned length = 0;
  require(functions().hmac != nullptr, "load: libcrypto.so.3 is missing");
  require(functions().hmac(functions().sha256(), key.data(), static_cast<int>(key.size()),
                           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                           reinterpret_cast<unsigned char*>(code.data()), &length) != nullptr &&
              length == code.size(),
          "compute HMAC-SHA256");
  return code;
}

bool equal_codes(const Digest& a, const Digest& b) noexcept {
  return functions().compare != nullptr ? functions().compare(a.data(), b.data(), a.size()) == 0
                                        : a == b;
}

Digest random_digest() {
  Digest digest;
  // The system returns up to 256 bytes at once.
  if (::getrandom(digest.data(), digest.size(), 0) != static_cast<ssize_t>(digest.size()))
    throw Error{ErrorCode::transport, "the system has no random bytes"};
  return digest;
}

void wipe(Digest& secret) noexcept {
  ::explicit_bzero(secret.data(), secret.size());
}

}  // namespace tutti::runtime
