/// @file
/// Unix sockets that never block. Their names are abstract: nothing is left in a file system.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/uio.h>

namespace tutti::nccl_standin {

/// An open file that is closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) noexcept : file_{file} {}
  Socket(Socket&& other) noexcept : file_{std::exchange(other.file_, -1)} {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Socket();

  int file() const noexcept { return file_; }
  explicit operator bool() const noexcept { return file_ >= 0; }

  /// Both ends find the connection closed; the file stays open, so other threads may be using it.
  void shut_down() const noexcept;

 private:
  int file_ = -1;
};

/// @return a socket that listens at a name. Throws Failure if the name is in use.
Socket listen_at(const std::string& name);
/// @return a connection, or nothing as long as no process listens at that name.
Socket try_connect(const std::string& name);
/// @return a connection that somebody has asked for, or nothing.
Socket try_accept(const Socket& listener);

/// Keeps what the system stores of a connection small.
void keep_little(const Socket& socket);

/// @return how many bytes could be sent at once, perhaps none. Throws Failure if the peer is gone.
std::size_t send_some(const Socket& socket, std::span<iovec> parts);

/// @return how many bytes there were, perhaps none, or nothing at the end of the connection.
std::optional<std::size_t> receive_some(const Socket& socket, std::span<std::byte> into);

}  // namespace tutti::nccl_standin
