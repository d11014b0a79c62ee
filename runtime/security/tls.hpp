/// @file
/// TLS 1.3 between two ranks that authenticate by the job's secret. It is implemented by
/// tls_openssl.cpp, or by tls_none.cpp in a build without OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/tcp/cipher.hpp"

#include "secret.hpp"

namespace tutti::runtime {

/// A connection to be encrypted.
struct TlsEnd {
  int socket = -1;         ///< Connected, non-blocking; not owned.
  bool connected = false;  ///< Whether this side connected, and so sends first.
  std::string identity{};  ///< The connection's; equal at both ends, at most 64 bytes.
  Rank peer = 0;           ///< The rank at the other end.
  std::string name{};      ///< Its name, such as "rank 1 (host a)".
};

[[nodiscard]] bool has_tls() noexcept;

/// Runs the handshakes of all connections at once. @param ends unused so far. @return a cipher for
/// each, in their order. Throws Error{timeout, peer_dead, mismatch} that names the peer,
/// Error{invalid_argument} without OpenSSL.
[[nodiscard]] std::vector<std::shared_ptr<tcp::Cipher>> encrypt(const std::vector<TlsEnd>& ends,
                                                                const Secret& secret,
                                                                Deadline deadline);

}  // namespace tutti::runtime
