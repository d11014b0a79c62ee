#include "socket.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tutti/error.hpp>

namespace tutti::tcp {
namespace {

void check(int result, const char* action) {
  if (result >= 0) return;
  throw Error{ErrorCode::transport,
              std::string{"cannot "} + action + ": " + std::generic_category().message(errno)};
}

void set_option(int descriptor, int option, int value, const char* action) {
  check(setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value), action);
}

// A short lack of kernel memory is no failure of the connection.
bool is_transient(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM;
}

template <class Call>
Moved move(Call call) noexcept {
  for (;;) {
    const ssize_t result = call();
    if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
    if (result == 0) return {.closed = true};
    if (is_transient(errno)) return {};
    if (errno != EINTR) return {.error = errno};
  }
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

// There is no TCP_USER_TIMEOUT: it would also end connections to peers that acknowledge everything
// but read nothing, because they compute. Heartbeats find hosts that have ended.
void Socket::prepare() {
  check(fcntl(descriptor_, F_SETFD, FD_CLOEXEC), "mark a connection to be closed by exec");
  const int flags = fcntl(descriptor_, F_GETFL);
  check(flags, "read the flags of a connection");
  check(fcntl(descriptor_, F_SETFL, flags | O_NONBLOCK), "make a connection non-blocking");
  set_option(descriptor_, TCP_NODELAY, 1, "set TCP_NODELAY");
}

Moved Socket::write(std::span<const iovec> from) noexcept {
  if (cipher_) return cipher_->write(from);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(from.data());  // sendmsg does not write to them
  message.msg_iovlen = from.size();
  return move([&] { return sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

Moved Socket::read(std::span<const iovec> into) noexcept {
  if (cipher_) return cipher_->read(into);
  if (into.size() == 1)  // the most frequent case, and the cheaper call
    return move([&] {
      return recv(descriptor_, into.front().iov_base, into.front().iov_len, MSG_DONTWAIT);
    });
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(into.data());  // recvmsg does not write to them
  message.msg_iovlen = into.size();
  return move([&] { return recvmsg(descriptor_, &message, MSG_DONTWAIT); });
}

void Socket::end_writing() noexcept {
  shutdown(descriptor_, SHUT_WR);
}

int Socket::unacknowledged() const noexcept {
  int bytes = 0;
  const bool is_known = ioctl(descriptor_, SIOCOUTQ, &bytes) == 0;
  return (is_known ? bytes : 0) + (has_unsent() ? 1 : 0);
}

}  // namespace tutti::tcp
