/// @file
/// The secret of a job: a process that knows it belongs to the job.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/sockets/address.hpp"

#include "cryptography.hpp"

namespace tutti::runtime {

/// 32 bytes, overwritten by the destructor.
class Secret {
 public:
  explicit Secret(const Digest& bytes) noexcept : bytes_{bytes} {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { wipe(bytes_); }

  [[nodiscard]] const Digest& bytes() const noexcept { return bytes_; }

 private:
  Digest bytes_;
};

/// @return an unpredictable secret, or nothing without OpenSSL, which is needed to use it.
[[nodiscard]] std::optional<Secret> generate_secret();

/// Reads a secret from a user's file: 32 bytes, or 64 hexadecimal digits as printed by `openssl
/// rand -hex 32`. The file must belong to this user and have mode 0600. Throws
/// Error{invalid_argument} that contains what is wrong with the file.
[[nodiscard]] Secret read_secret(const std::string& path);

/// @return the secret as 64 hexadecimal digits.
[[nodiscard]] std::string digits_of(const Secret& secret);
/// @param digits of digits_of. Throws Error{transport} if they are malformed.
[[nodiscard]] Secret secret_of_digits(std::string_view digits);

/// The advice for a job without a secret.
inline constexpr std::string_view kSecretHint =
    "make one by `(umask 077; openssl rand -hex 32 > FILE)`, copy FILE to every host and set "
    "TUTTI_SECRET_FILE to its path on all ranks";

/// @param address to listen on or to connect to. @param secret of the job, if it has one. @param
/// insecure whether the user allows a network without authentication. @return whether connections
/// at the address are authenticated, or need not be.
[[nodiscard]] bool is_protected(const Endpoint& address, const std::optional<Secret>& secret,
                                bool insecure) noexcept;
/// @param rank that connects over a network. @param peer its destination. @return the error of both
/// if the job has no secret: Error{invalid_argument}.
[[nodiscard]] Error no_secret(Rank rank, const std::string& peer);

/// Throws Error{invalid_argument} unless is_protected(), for an address to listen on.
void require_protection(const Endpoint& address, const std::optional<Secret>& secret,
                        bool insecure);

}  // namespace tutti::runtime
