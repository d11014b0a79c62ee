#include "secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "runtime/sockets/socket.hpp"

namespace tutti::runtime {
namespace {

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  throw Error{ErrorCode::invalid_argument, "the secret file " + path + " " + why};
}

/// @return why a file cannot hold a secret, or an empty text.
std::string objection(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  if (status.st_uid != ::geteuid()) return "belongs to another user";
  if ((status.st_mode & 077) != 0) return "may be opened by other users; its mode must be 0600";
  return {};
}

std::optional<Digest> parse_digits(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  Digest digest;
  if (text.size() != 2 * digest.size()) return {};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
    if (error != std::errc{} || end != digits + 2) return {};
    digest[i] = static_cast<std::byte>(value);
  }
  return digest;
}

}  // namespace

std::optional<Secret> generate_secret() {
  if (!has_cryptography()) return {};
  return Secret{random_digest()};
}

Secret read_secret(const std::string& path) {
  if (!has_cryptography())
    reject(path, "is of no use: this tutti was built without OpenSSL and cannot authenticate");
  // Opening a pipe without O_NONBLOCK would wait for its writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) reject(path, "cannot be opened: " + std::string{std::strerror(errno)});
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) reject(path, "cannot be examined");
  if (const std::string why = objection(status); !why.empty()) reject(path, why);
  std::array<char, 2 * kDigestBytes + 2> text;  // one more than the longest valid content
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) reject(path, "cannot be read: " + std::string{std::strerror(errno)});
  const std::string_view content{text.data(), static_cast<std::size_t>(got)};
  if (auto digest = parse_digits(content)) return Secret{*digest};
  if (content.size() != kDigestBytes)
    reject(path, "must hold 32 bytes, or 64 hexadecimal digits as `openssl rand -hex 32` prints");
  Digest digest;
  std::memcpy(digest.data(), content.data(), digest.size());
  return Secret{digest};
}

std::string digits_of(const Secret& secret) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : secret.bytes()) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

Secret secret_of_digits(std::string_view digits) {
  if (const auto digest = parse_digits(digits)) return Secret{*digest};
  throw Error{ErrorCode::transport, "a secret that was passed on is not 64 hexadecimal digits"};
}

bool is_protected(const Endpoint& address, const std::optional<Secret>& secret,
                  bool insecure) noexcept {
  return is_loopback(address) || secret || (insecure && has_cryptography());
}

Error no_secret(Rank rank, const std::string& peer) {
  return {ErrorCode::invalid_argument,
          "rank " + std::to_string(rank) + " connects to " + peer +
              " over a network, but the job has no secret that authenticates its ranks: " +
              std::string{kSecretHint},
          rank};
}

void require_protection(const Endpoint& address, const std::optional<Secret>& secret,
                        bool insecure) {
  if (is_protected(address, secret, insecure)) return;
  const std::string where = "tutti does not listen on " + text_of(address);
  if (!has_cryptography())
    throw Error{ErrorCode::invalid_argument,
                where +
                    ": it was built without OpenSSL, cannot authenticate its peers, and "
                    "therefore uses the loopback only"};
  throw Error{ErrorCode::invalid_argument,
              where + " without a secret to authenticate its peers: " + std::string{kSecretHint} +
                  "; or let InitOptions::insecure allow a network without one"};
}

}  // namespace tutti::runtime
