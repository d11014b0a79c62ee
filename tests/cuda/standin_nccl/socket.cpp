#include "socket.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "failure.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr int kBacklog = 1024;
constexpr int kBufferBytes = 16 << 10;

[[noreturn]] void fail(const std::string& what) {
  throw Failure{ncclSystemError, what + ": " + std::strerror(errno)};
}

Socket make_socket() {
  Socket made{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!made) fail("socket");
  return made;
}

struct Address {
  sockaddr_un bytes{};
  socklen_t length = 0;

  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// An abstract name begins with a zero byte and ends where the length says.
Address address_of(const std::string& name) {
  Address address;
  require(name.size() < sizeof address.bytes.sun_path, ncclInternalError, "a name is too long");
  address.bytes.sun_family = AF_UNIX;
  std::memcpy(address.bytes.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

bool is_not_yet(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

bool is_gone(int error) {
  return error == EPIPE || error == ECONNRESET || error == ENOTCONN;
}

}  // namespace

Socket::~Socket() {
  if (file_ >= 0) close(file_);
}

void Socket::shut_down() const noexcept {
  if (file_ >= 0) shutdown(file_, SHUT_RDWR);
}

Socket listen_at(const std::string& name) {
  Socket listener = make_socket();
  const Address address = address_of(name);
  if (bind(listener.file(), address.generic(), address.length) != 0) fail("bind");
  if (listen(listener.file(), kBacklog) != 0) fail("listen");
  return listener;
}

Socket try_connect(const std::string& name) {
  Socket made = make_socket();
  const Address address = address_of(name);
  if (connect(made.file(), address.generic(), address.length) == 0) return made;
  if (errno == ECONNREFUSED || is_not_yet(errno)) return {};
  fail("connect");
}

Socket try_accept(const Socket& listener) {
  Socket made{accept4(listener.file(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!made && !is_not_yet(errno) && errno != ECONNABORTED) fail("accept");
  return made;
}

void keep_little(const Socket& socket) {
  if (setsockopt(socket.file(), SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes) != 0)
    fail("setsockopt");
}

std::size_t send_some(const Socket& socket, std::span<iovec> parts) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(socket.file(), &message, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (is_not_yet(errno)) return 0;
  if (is_gone(errno)) throw Failure{ncclRemoteError, "a peer has closed its connection"};
  fail("sendmsg");
}

std::optional<std::size_t> receive_some(const Socket& socket, std::span<std::byte> into) {
  const ssize_t got = recv(socket.file(), into.data(), into.size(), 0);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0 || is_gone(errno)) return std::nullopt;
  if (is_not_yet(errno)) return 0;
  fail("recv");
}

}  // namespace tutti::nccl_standin
