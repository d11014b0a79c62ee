#include "control_peer.hpp"

#include <cerrno>
#include <cstring>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::runtime {
namespace {

// A hundred failures with long texts. A peer that reads fewer is stopped, or is no tutti.
constexpr std::size_t kMostUnsent = std::size_t{256} << 10;
// More than a message, so that an unfinished one is bounded too.
constexpr std::size_t kMostRead = 4096;

/// A descriptor of the process at the other end of a Unix socket, if the system gives one.
Descriptor open_process(int socket) {
  const std::optional<pid_t> process = peer_process(socket);
  if (!process || *process == getpid()) return {};
  return Descriptor{static_cast<int>(syscall(SYS_pidfd_open, *process, 0))};
}

tcp::Moved moved_by(ssize_t result) noexcept {
  if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
  if (result == 0) return {.closed = true};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {.error = errno};
}

}  // namespace

ControlPeer::ControlPeer(WatchedProcess watched, Clock::time_point now)
    : watched_{std::move(watched)}, last_input_{now} {
  if (is_local()) process_ = open_process(socket());
}

void ControlPeer::send(const std::string& message) {
  if (!is_connected() || has_overflowed_ || is_finished_) return;
  if (outgoing_.size() + message.size() > kMostUnsent) {
    has_overflowed_ = true;
    return;
  }
  outgoing_ += message;
  flush();
}

void ControlPeer::send_last(const std::string& message) {
  send(message);
  is_finished_ = true;
}

// A broken socket is detected by the next read.
void ControlPeer::flush() noexcept {
  while (is_connected() && must_flush()) {
    const std::size_t sent = write_socket().bytes;
    if (sent == 0) return;
    outgoing_.erase(0, sent);
  }
}

tcp::Moved ControlPeer::write_socket() noexcept {
  const iovec all{outgoing_.data(), outgoing_.size()};
  if (watched_.cipher) return watched_.cipher->write({&all, 1});
  ssize_t sent = 0;
  do sent = ::send(socket(), all.iov_base, all.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return moved_by(sent);
}

tcp::Moved ControlPeer::read_socket(std::span<char> into) noexcept {
  const iovec all{into.data(), into.size()};
  if (watched_.cipher) return watched_.cipher->read({&all, 1});
  return moved_by(::recv(socket(), all.iov_base, all.iov_len, MSG_DONTWAIT));
}

// Closing a connection with unread input discards the output that is on its way.
bool ControlPeer::is_drained() const noexcept {
  if (!is_connected()) return true;
  if (must_flush()) return false;
  int unacknowledged = 0;
  return is_local() || ioctl(socket(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
}

ControlPeer::ReadResult ControlPeer::read() {
  char bytes[kMostRead];
  const tcp::Moved got = read_socket(bytes);
  if (got.bytes > 0) {
    last_input_ = Clock::now();
    incoming_.append(bytes, got.bytes);
    return ReadResult::bytes;
  }
  if (!got.closed && got.error == 0) return ReadResult::nothing;
  // A process that ends with unread input resets the connection.
  cause_ = got.closed || got.error == ECONNRESET || got.error == EPIPE
               ? "has ended"
               : std::string{"cannot be reached: "} + std::strerror(got.error);
  return ReadResult::end;
}

void ControlPeer::mark_dead() noexcept {
  state_ = ConnectionState::dead;
  shutdown(socket(), SHUT_WR);
}

}  // namespace tutti::runtime
