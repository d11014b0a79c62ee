#include "socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "descriptors.hpp"
#include "interruptible.hpp"

namespace tutti::runtime {
namespace {

Descriptor make_socket(int family) {
  Descriptor made{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!made) throw_system_error("cannot open a socket", errno);
  return made;
}

void switch_on(int descriptor, int level, int option) {
  const int one = 1;
  if (::setsockopt(descriptor, level, option, &one, sizeof one) != 0)
    throw system_error("cannot set a socket's option", errno);
}

/// Throws the error of a failed connection.
[[noreturn]] void fail_to_connect(const std::string& what, int error) {
  if (error != ENETUNREACH && error != EHOSTUNREACH && error != ETIMEDOUT)
    throw system_error(what, error);
  throw Unreachable{ErrorCode::transport, what + ": " + std::system_category().message(error) +
                                              "; " + std::string{kReachabilityHint}};
}

/// The name of an abstract Unix socket starts with a zero byte.
Endpoint local_endpoint(std::string_view name) {
  sockaddr_un address{};
  expects(name.size() + 1 <= sizeof address.sun_path, "the name of a Unix socket is too long");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  Endpoint endpoint;
  std::memcpy(&endpoint.storage, &address, sizeof address);
  endpoint.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return endpoint;
}

/// The error of a stream: the peer has closed it, or the system failed.
Error stream_error(const char* what, int error) {
  if (error == EPIPE || error == ECONNRESET)
    return {ErrorCode::peer_dead, "the peer closed the connection"};
  return system_error(what, error);
}

/// Waits for a stream; throws at the deadline.
void await_stream(int descriptor, short events, Deadline deadline) {
  if (!wait_for(descriptor, events, deadline))
    throw Error{ErrorCode::timeout, "the peer did not answer in time"};
}

bool must_wait(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK;
}

/// A connection to a free port of this host can connect to itself, if the system assigns it that
/// port.
bool connected_to_itself(int descriptor) {
  const std::optional<ConnectionAddresses> addresses = addresses_of(descriptor);
  return addresses && addresses->local.length == addresses->remote.length &&
         std::memcmp(&addresses->local.storage, &addresses->remote.storage,
                     addresses->local.length) == 0;
}

/// Room for the descriptor of an FdMessage.
struct alignas(cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

/// Throws DescriptorShortage if a received descriptor was dropped for that reason.
void check_spare_descriptor(int socket) {
  const Descriptor another{::fcntl(socket, F_DUPFD_CLOEXEC, 0)};
  if (!another) throw_system_error("cannot receive a descriptor", errno);
}

ucred credentials_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    throw system_error("cannot read the credentials of a Unix socket's peer", errno);
  return credentials;
}

}  // namespace

void Descriptor::reset(int descriptor) noexcept {
  const int old = std::exchange(descriptor_, descriptor);
  if (old >= 0) ::close(old);
}

Error system_error(const std::string& what, int error) {
  return {ErrorCode::transport, what + ": " + std::system_category().message(error)};
}

int milliseconds_until(Deadline deadline) noexcept {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  constexpr std::chrono::milliseconds::rep kLongest = 60'000;
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, kLongest));
}

bool wait_for(int descriptor, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{.fd = descriptor, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, milliseconds_until(next_look(deadline)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for a socket", errno);
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
}

Descriptor try_listen_on(const Endpoint& address) {
  const std::string what = "cannot listen on " + text_of(address);
  Descriptor listener{
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!listener && errno == EAFNOSUPPORT) return {};
  if (!listener) throw_system_error(what, errno);
  switch_on(listener.get(), SOL_SOCKET, SO_REUSEADDR);
  if (::bind(listener.get(), address.get(), address.length) != 0) {
    if (errno == EADDRNOTAVAIL) return {};
    throw system_error(what, errno);
  }
  if (::listen(listener.get(), SOMAXCONN) != 0) throw system_error(what, errno);
  return listener;
}

Descriptor listen_on(const Endpoint& address) {
  if (Descriptor listener = try_listen_on(address)) return listener;
  throw Error{ErrorCode::transport,
              "cannot listen on " + text_of(address) + ": this host does not have that address"};
}

Descriptor listen_locally(std::string_view name) {
  Descriptor listener = make_socket(AF_UNIX);
  const Endpoint address = local_endpoint(name);
  if (::bind(listener.get(), address.get(), address.length) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0)
    throw system_error("cannot listen on a Unix socket", errno);
  return listener;
}

Descriptor connect_to(const Endpoint& address, Deadline deadline) {
  const std::string what = "cannot connect to " + text_of(address);
  Descriptor connection = make_socket(address.storage.ss_family);
  switch_on(connection.get(), IPPROTO_TCP, TCP_NODELAY);
  if (::connect(connection.get(), address.get(), address.length) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) fail_to_connect(what, errno);
    if (!wait_for(connection.get(), POLLOUT, deadline))
      throw Error{ErrorCode::timeout, what + ": no answer; " + std::string{kReachabilityHint}};
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    if (error != 0) fail_to_connect(what, error);
  }
  if (connected_to_itself(connection.get())) throw system_error(what, ECONNREFUSED);
  return connection;
}

Descriptor connect_locally(std::string_view name, Deadline deadline) {
  const Endpoint address = local_endpoint(name);
  Descriptor connection = make_socket(AF_UNIX);
  while (::connect(connection.get(), address.get(), address.length) != 0) {
    if (errno == ECONNREFUSED) return {};
    if (!must_wait(errno) && errno != EINTR)
      throw system_error("cannot connect to a Unix socket", errno);
    // The listener's queue is full; no event reports that there is room again.
    if (std::chrono::steady_clock::now() >= deadline)
      throw Error{ErrorCode::timeout, "a Unix socket's listener accepts no connections"};
    sleep_until(std::chrono::steady_clock::now() + std::chrono::milliseconds{1});
  }
  return connection;
}

void send_all(int descriptor, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (must_wait(errno)) await_stream(descriptor, POLLOUT, deadline);
    else if (errno != EINTR) throw stream_error("cannot send", errno);
  }
}

void receive_all(int descriptor, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(descriptor, bytes.data(), bytes.size(), 0);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    else if (got == 0) throw stream_error("", ECONNRESET);
    else if (must_wait(errno)) await_stream(descriptor, POLLIN, deadline);
    else if (errno != EINTR) throw stream_error("cannot receive", errno);
  }
}

void send_descriptor(int socket, std::byte note, int descriptor, Deadline deadline) {
  ControlBuffer control;
  iovec piece{.iov_base = &note, .iov_len = 1};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (must_wait(errno)) await_stream(socket, POLLOUT, deadline);
    else if (errno != EINTR) throw stream_error("cannot send a descriptor", errno);
  }
}

FdMessage receive_descriptor(int socket, Deadline deadline) {
  FdMessage fd_message;
  ControlBuffer control;
  iovec piece{.iov_base = &fd_message.note, .iov_len = 1};
  for (;;) {
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got == 0) throw stream_error("", ECONNRESET);
    if (got < 0 && must_wait(errno)) await_stream(socket, POLLIN, deadline);
    else if (got < 0 && errno != EINTR) throw stream_error("cannot receive a descriptor", errno);
    if (got < 0) continue;
    if ((message.msg_flags & MSG_CTRUNC) != 0) check_spare_descriptor(socket);
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int))) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
      fd_message.descriptor.reset(descriptor);
    }
    return fd_message;
  }
}

uid_t peer_user(int socket) {
  return credentials_of(socket).uid;
}

std::optional<pid_t> peer_process(int socket) {
  const pid_t process = credentials_of(socket).pid;
  if (process <= 0) return {};
  return process;
}

}  // namespace tutti::runtime
