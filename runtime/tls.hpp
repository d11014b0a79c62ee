/// @file
/// TLS 1.3 between two ranks that know the job's secret, which is all they authenticate by. One of
/// two files implements it: tls_openssl.cpp, or tls_none.cpp where tutti is built without OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/tcp/cipher.hpp"
#include "secret.hpp"

namespace tutti::runtime {

/// One connection that is to be encrypted.
struct TlsEnd {
  int socket = -1;         ///< Connected, non-blocking; not owned.
  bool connected = false;  ///< Whether this side connected, and so speaks first.
  std::string identity{};  ///< Which connection this is; the same at both ends, at most 64 bytes.
  Rank peer = 0;           ///< Who is at the other end.
  std::string name{};      ///< What to call it, such as "rank 1 (host a)".
};

/// @return whether this build can encrypt.
[[nodiscard]] bool has_tls() noexcept;

/// Shakes hands on all connections at once. @param ends of connections on which nothing has been
/// said. @param secret of the job, the same at both ends. @param deadline at which to give up.
/// @return a cipher for each, in their order. Throws Error{timeout, peer_dead, mismatch} that names
/// the peer, Error{invalid_argument} without OpenSSL.
[[nodiscard]] std::vector<std::shared_ptr<tcp::Cipher>> encrypt(const std::vector<TlsEnd>& ends,
                                                                const Secret& secret,
                                                                Deadline deadline);

}  // namespace tutti::runtime
