#include "tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "runtime/sockets/interruptible.hpp"
#include "runtime/sockets/socket.hpp"

#include "cryptography.hpp"
#include "require.hpp"

namespace tutti::runtime {
namespace {

using tcp::Moved;
using Clock = std::chrono::steady_clock;

/// The longest content of a TLS record, and the most that is read at once.
constexpr std::size_t kRecordBytes = 16384;
/// AES-GCM must not encrypt more than 2^24.5 records with one key (RFC 8446, section 5.5).
constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 23;
constexpr std::array<unsigned char, 2> kAes128GcmSha256{0x13, 0x01};

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const noexcept { kFree(object); }
};
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX, &SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Free<SSL, &SSL_free>>;
using TlsSession = std::unique_ptr<SSL_SESSION, Free<SSL_SESSION, &SSL_SESSION_free>>;

/// The key that both ends derive from the secret, so that TLS does not use the secret itself.
struct PreSharedKey {
  explicit PreSharedKey(const Secret& secret)
      : bytes{message_code(secret.bytes(), {std::as_bytes(std::span{"tutti, TLS 1.3, PSK"})})} {}
  PreSharedKey(const PreSharedKey&) = delete;
  PreSharedKey& operator=(const PreSharedKey&) = delete;
  ~PreSharedKey() { wipe(bytes); }

  /// @return the key as an external PSK.
  [[nodiscard]] TlsSession session(SSL* connection) const {
    TlsSession made{SSL_SESSION_new()};
    const SSL_CIPHER* const cipher = SSL_CIPHER_find(connection, kAes128GcmSha256.data());
    const bool good =
        made && cipher != nullptr &&
        SSL_SESSION_set1_master_key(
            made.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1 &&
        SSL_SESSION_set_cipher(made.get(), cipher) == 1 &&
        SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
    return good ? std::move(made) : nullptr;
  }

  Digest bytes;
};

/// TLS over two buffers. Moving bytes between these and the socket never blocks, and raises no
/// SIGPIPE.
class TlsCipher final : public tcp::Cipher {
 public:
  TlsCipher(SSL_CTX* context, const TlsEnd& end, const PreSharedKey& key)
      : end_{end}, key_{&key}, ssl_{SSL_new(context)}, encrypted_(2 * kRecordBytes) {
    require(ssl_ != nullptr, "make a connection");
    incoming_ = BIO_new(BIO_s_mem());
    outgoing_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), incoming_, outgoing_);
    require(incoming_ != nullptr && outgoing_ != nullptr, "make buffers");
    SSL_set_app_data(ssl_.get(), this);
    if (end.connected) {
      SSL_set_connect_state(ssl_.get());
      SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);  // no certificate is accepted
    } else {
      SSL_set_accept_state(ssl_.get());
    }
  }

  [[nodiscard]] const TlsEnd& end() const noexcept { return end_; }
  [[nodiscard]] const PreSharedKey* key() const noexcept { return key_; }
  /// The key does not outlive encrypt().
  void drop_key() noexcept { key_ = nullptr; }

  /// Continues the handshake. @return whether it is complete. Throws Error.
  [[nodiscard]] bool continue_handshake() {
    for (;;) {
      ERR_clear_error();
      const int result = SSL_do_handshake(ssl_.get());
      const int reason = SSL_get_error(ssl_.get(), result);
      const Moved sent = send_owed();  // an alert as well
      if (result == 1 && SSL_session_reused(ssl_.get()) == 1) return !has_unsent();
      if (result == 1 || reason != SSL_ERROR_WANT_READ)
        throw Error{ErrorCode::mismatch,
                    end_.name + " failed the TLS handshake: wrong secret, or not tutti's TLS",
                    end_.peer};
      const Moved got = receive();
      if (got.closed || got.error != 0 || sent.error != 0)
        throw Error{ErrorCode::peer_dead, end_.name + " disconnected during its TLS handshake",
                    end_.peer};
      if (got.bytes == 0) return false;
    }
  }

  [[nodiscard]] Moved write(std::span<const iovec> from) noexcept override {
    Moved moved;
    moved.error = send_owed().error;
    for (Gather gather{from}; moved.error == 0 && !has_unsent();) {
      const std::span<const std::byte> record = gather.next(plain_);
      if (record.empty()) break;
      ERR_clear_error();
      if (SSL_write(ssl_.get(), record.data(), static_cast<int>(record.size())) <= 0) {
        moved.error = EPROTO;
        break;
      }
      moved.bytes += record.size();
      if (++records_ % kRecordsPerKey == 0 &&
          SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
        moved.error = EPROTO;
      if (moved.error != 0) break;
      moved.error = send_owed().error;
    }
    return moved;
  }

  [[nodiscard]] Moved read(std::span<const iovec> into) noexcept override {
    Moved got;
    holds_ = false;
    for (const iovec& vector : into) {
      for (std::size_t filled = 0; filled < vector.iov_len;) {
        const Moved part =
            decrypt({static_cast<std::byte*>(vector.iov_base) + filled, vector.iov_len - filled});
        got.bytes += part.bytes;
        filled += part.bytes;
        if (part.bytes > 0) continue;
        if (got.bytes == 0) return part;
        return got;  // the next call returns the end or the error
      }
    }
    holds_ = true;
    return got;
  }

  [[nodiscard]] bool has_unsent() const noexcept override {
    return BIO_ctrl_pending(outgoing_) > 0;
  }
  [[nodiscard]] bool has_unread() const noexcept override { return holds_; }

 private:
  /// Gathers bytes into records; short pieces share one.
  class Gather {
   public:
    explicit Gather(std::span<const iovec> from) noexcept : from_{from} {}
    std::span<const std::byte> next(std::array<std::byte, kRecordBytes>& scratch) noexcept {
      std::size_t filled = 0;
      while (!from_.empty() && filled < scratch.size()) {
        const auto* const data = static_cast<const std::byte*>(from_.front().iov_base) + offset_;
        const std::size_t run = std::min(from_.front().iov_len - offset_, scratch.size() - filled);
        std::memcpy(scratch.data() + filled, data, run);
        filled += run;
        offset_ += run;
        if (offset_ < from_.front().iov_len) break;
        from_ = from_.subspan(1);
        offset_ = 0;
      }
      return std::span{scratch}.first(filled);
    }

   private:
    std::span<const iovec> from_;
    std::size_t offset_ = 0;
  };

  [[nodiscard]] Moved decrypt(std::span<std::byte> into) noexcept {
    for (;;) {
      ERR_clear_error();
      const int length = static_cast<int>(std::min<std::size_t>(into.size(), kRecordBytes));
      const int got = SSL_read(ssl_.get(), into.data(), length);
      if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
      if (SSL_get_error(ssl_.get(), got) != SSL_ERROR_WANT_READ) return {.error = EBADMSG};
      const Moved received = receive();
      if (received.bytes == 0) return received;
    }
  }

  /// Reads from the socket into the buffer to be decrypted.
  [[nodiscard]] Moved receive() noexcept {
    for (;;) {
      const ssize_t got = ::recv(end_.socket, encrypted_.data(), encrypted_.size(), MSG_DONTWAIT);
      if (got > 0) {
        const int kept = BIO_write(incoming_, encrypted_.data(), static_cast<int>(got));
        return kept == got ? Moved{.bytes = static_cast<std::size_t>(got)} : Moved{.error = ENOMEM};
      }
      if (got == 0) return {.closed = true};
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
      if (errno != EINTR) return {.error = errno};
    }
  }

  /// Writes to the socket while it has room.
  [[nodiscard]] Moved send_owed() noexcept {
    while (has_unsent()) {
      char* data = nullptr;
      const auto there = static_cast<std::size_t>(BIO_get_mem_data(outgoing_, &data));
      const ssize_t sent = ::send(end_.socket, data, there, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0)
        return {.error = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? 0 : errno};
      discard(static_cast<std::size_t>(sent));
    }
    return {};
  }

  void discard(std::size_t bytes) noexcept {
    for (std::array<char, kRecordBytes> waste; bytes > 0;)
      bytes -= static_cast<std::size_t>(
          BIO_read(outgoing_, waste.data(), static_cast<int>(std::min(bytes, waste.size()))));
  }

  TlsEnd end_;
  const PreSharedKey* key_;
  Connection ssl_;
  BIO* incoming_ = nullptr;  // of ssl_, as is the next
  BIO* outgoing_ = nullptr;
  std::vector<std::byte> encrypted_;             // scratch of receive
  std::array<std::byte, kRecordBytes> plain_{};  // scratch of write
  bool holds_ = true;                            // the handshake may have left input
  std::uint64_t records_ = 0;
};

TlsCipher& cipher_of(SSL* ssl) noexcept {
  return *static_cast<TlsCipher*>(SSL_get_app_data(ssl));
}

int offer_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* length,
                  SSL_SESSION** session) {
  const TlsCipher& cipher = cipher_of(ssl);
  *identity = reinterpret_cast<const unsigned char*>(cipher.end().identity.data());
  *length = cipher.end().identity.size();
  *session = cipher.key()->session(ssl).release();
  return *session != nullptr ? 1 : 0;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t length,
                 SSL_SESSION** session) {
  const TlsCipher& cipher = cipher_of(ssl);
  const std::string_view named{reinterpret_cast<const char*>(identity), length};
  *session = named == cipher.end().identity ? cipher.key()->session(ssl).release() : nullptr;
  return 1;
}

Context make_context() {
  Context context{SSL_CTX_new(TLS_method())};
  require(context && SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256") == 1,
          "start TLS 1.3");
  SSL_CTX_set_num_tickets(context.get(), 0);  // sessions are not resumed
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_psk_use_session_callback(context.get(), offer_session);
  SSL_CTX_set_psk_find_session_callback(context.get(), find_session);
  return context;
}

}  // namespace

bool has_tls() noexcept {
  return true;
}

std::vector<std::shared_ptr<tcp::Cipher>> encrypt(const std::vector<TlsEnd>& ends,
                                                  const Secret& secret, Deadline deadline) {
  const Context context = make_context();
  const PreSharedKey key{secret};
  std::vector<std::shared_ptr<TlsCipher>> all;
  for (const TlsEnd& end : ends)
    all.push_back(std::make_shared<TlsCipher>(context.get(), end, key));
  auto unfinished = all;
  for (;;) {
    std::erase_if(unfinished, [](const auto& cipher) { return cipher->continue_handshake(); });
    if (unfinished.empty()) break;
    if (Clock::now() >= deadline)
      throw Error{ErrorCode::timeout,
                  unfinished.front()->end().name + " did not finish its TLS handshake in time",
                  unfinished.front()->end().peer};
    std::vector<pollfd> awaited;
    for (const auto& cipher : unfinished)
      awaited.push_back(
          {.fd = cipher->end().socket,
           .events = static_cast<short>(cipher->has_unsent() ? POLLIN | POLLOUT : POLLIN),
           .revents = 0});
    if (::poll(awaited.data(), awaited.size(), milliseconds_until(next_look(deadline))) < 0 &&
        errno != EINTR)
      throw system_error("cannot wait for TLS handshakes", errno);
  }
  for (const auto& cipher : all) cipher->drop_key();
  return {all.begin(), all.end()};
}

}  // namespace tutti::runtime
