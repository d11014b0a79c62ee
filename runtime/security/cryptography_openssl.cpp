#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <memory>
#include <tutti/error.hpp>

#include "cryptography.hpp"
#include "require.hpp"

namespace tutti::runtime {
namespace {

const unsigned char* bytes_of(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

bool has_cryptography() noexcept {
  return true;
}

bool loads_cryptography() noexcept {
  return false;
}

Digest message_code(const Digest& key, std::initializer_list<std::span<const std::byte>> pieces) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac{
      EVP_MAC_fetch(nullptr, "HMAC", nullptr), &EVP_MAC_free};
  require(mac != nullptr, "find HMAC");
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context{
      EVP_MAC_CTX_new(mac.get()), &EVP_MAC_CTX_free};
  std::string name{"SHA256"};
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.data(), 0),
      OSSL_PARAM_construct_end()};
  require(
      context != nullptr && EVP_MAC_init(context.get(), bytes_of(key), key.size(), parameters) == 1,
      "start HMAC-SHA256");
  for (const auto piece : pieces)
    require(EVP_MAC_update(context.get(), bytes_of(piece), piece.size()) == 1, "compute HMAC");
  Digest code;
  std::size_t length = 0;
  require(EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(code.data()), &length,
                        code.size()) == 1 &&
              length == code.size(),
          "finish HMAC");
  return code;
}

bool equal_codes(const Digest& a, const Digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Digest random_digest() {
  Digest digest;
  require(RAND_bytes(reinterpret_cast<unsigned char*>(digest.data()),
                     static_cast<int>(digest.size())) == 1,
          "generate random bytes");
  return digest;
}

void wipe(Digest& secret) noexcept {
  OPENSSL_cleanse(secret.data(), secret.size());
}

}  // namespace tutti::runtime
