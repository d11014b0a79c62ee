/// @file
/// The secret of a job: who knows it belongs to the job.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "address.hpp"
#include "cryptography.hpp"

namespace tutti::runtime {

/// 32 bytes, overwritten when no longer needed.
class Secret {
 public:
  /// @param bytes what nobody else may know.
  explicit Secret(const Digest& bytes) noexcept : bytes_{bytes} {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret() { forget(bytes_); }

  /// @return the bytes.
  [[nodiscard]] const Digest& bytes() const noexcept { return bytes_; }

 private:
  Digest bytes_;
};

/// @return a secret that nobody can guess, or nothing without OpenSSL, which could not use it.
[[nodiscard]] std::optional<Secret> draw_secret();

/// Reads a secret that the user laid down: 32 bytes, or 64 hexadecimal digits as printed by
/// `openssl rand -hex 32`.
/// @param path of a file that belongs to this user and that nobody else may open (mode 0600).
/// @return it. Throws Error{invalid_argument} that says what is wrong with the file.
[[nodiscard]] Secret read_secret(const std::string& path);

/// @param secret any. @return it as 64 hexadecimal digits.
[[nodiscard]] std::string digits_of(const Secret& secret);
/// @param digits of digits_of. @return the secret. Throws Error{transport}.
[[nodiscard]] Secret secret_of_digits(std::string_view digits);

/// How a user gives a job a secret.
inline constexpr std::string_view kHowToGiveASecret =
    "make one by `(umask 077; openssl rand -hex 32 > FILE)`, copy FILE to every host and set "
    "TUTTI_SECRET_FILE to its path on all ranks";

/// @param address to listen on or to connect to. @param secret of the job, if it has one.
/// @param insecure whether the user allows a network without authentication. @return whether peers
/// there are authenticated, or need not be.
[[nodiscard]] bool is_protected(const Endpoint& address, const std::optional<Secret>& secret,
                                bool insecure) noexcept;
/// @param rank that came over a network. @param peer to whom. @return what both of them are told
/// where the job has no secret: Error{invalid_argument}.
[[nodiscard]] Error no_secret(Rank rank, const std::string& peer);

/// Refuses to listen where strangers could connect unless peers can be authenticated.
/// @param address to listen on. @param secret of the job, if it has one. @param insecure whether
/// the user allows a network without authentication. Throws Error{invalid_argument} in one
/// sentence.
void require_protection(const Endpoint& address, const std::optional<Secret>& secret,
                        bool insecure);

}  // namespace tutti::runtime
