/// @file
/// Sockets with deadlines: a descriptor that closes itself, and the few calls the runtime makes on
/// it. Every socket made here is non-blocking and closed on exec; every wait ends at its deadline.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tutti/spi/channel.hpp>

#include "address.hpp"

namespace tutti::runtime {

/// Owns an open file descriptor, or nothing.
class Descriptor {
 public:
  Descriptor() = default;
  /// @param descriptor open, owned from now on; or -1.
  explicit Descriptor(int descriptor) noexcept : descriptor_{descriptor} {}
  Descriptor(Descriptor&& other) noexcept : descriptor_{other.release()} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  /// @return the descriptor, or -1.
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  /// @return whether there is one.
  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }
  /// Gives the descriptor away. @return it, or -1.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  /// Closes what there is. @param descriptor takes its place.
  void reset(int descriptor = -1) noexcept;

 private:
  int descriptor_ = -1;
};

/// @param what was tried. @param error of errno. @return Error{transport} that says both.
[[nodiscard]] Error system_error(const std::string& what, int error);

/// @return the timeout for poll until a deadline, rounded up; 0 if it has passed.
[[nodiscard]] int milliseconds_until(Deadline deadline) noexcept;

/// Waits until a descriptor is ready, interrupted by no signal.
/// @param descriptor to wait for. @param events of poll. @param deadline at which to give up.
/// @return whether it is ready, which an error or the end of the stream is too.
[[nodiscard]] bool wait_for(int descriptor, short events, Deadline deadline);

/// Listens on one address. @param address with port, 0 for any free one.
/// @return the listener. Throws Error{transport} that names the address.
[[nodiscard]] Descriptor listen_on(const Endpoint& address);
/// As listen_on. @param address with port. @return the listener, or nothing if this host does not
/// have that address. Throws Error{transport} that names the address.
[[nodiscard]] Descriptor try_listen_on(const Endpoint& address);
/// Listens on an abstract Unix socket, which leaves no file behind.
/// @param name at most 100 bytes. @return the listener. Throws Error{transport}.
[[nodiscard]] Descriptor listen_locally(std::string_view name);

/// No packet comes through to an address.
struct Unreachable : Error {
  using Error::Error;
};

/// One attempt to connect, without Nagle's delay.
/// @param address of the listener. @param deadline at which to give up.
/// @return the connection. Throws Error{transport, timeout} that names the address, an Unreachable
/// where the system tells that no way leads there.
[[nodiscard]] Descriptor connect_to(const Endpoint& address, Deadline deadline);
/// One attempt to connect to an abstract Unix socket of the same network namespace.
/// @param name of the listener. @param deadline at which to give up.
/// @return the connection, or nothing if nobody listens there. Throws Error{transport, timeout}.
[[nodiscard]] Descriptor connect_locally(std::string_view name, Deadline deadline);

/// Sends all bytes. @param descriptor of a stream. @param bytes to send. @param deadline at which
/// to give up. Throws Error{timeout, peer_dead, transport}.
void send_all(int descriptor, std::span<const std::byte> bytes, Deadline deadline);
/// Receives as many bytes as there is room for. @param descriptor of a stream. @param bytes to
/// fill.
/// @param deadline at which to give up. Throws Error{timeout, peer_dead, transport}.
void receive_all(int descriptor, std::span<std::byte> bytes, Deadline deadline);

/// A byte that came over a Unix socket, with or without a descriptor.
struct FdMessage {
  std::byte note{};         ///< What the sender said.
  Descriptor descriptor{};  ///< What it sent along, or nothing.
};
/// Sends a byte and a descriptor. @param socket of Unix. @param note the byte. @param descriptor to
/// send, or -1. @param deadline at which to give up. Throws Error{timeout, peer_dead, transport}.
void send_descriptor(int socket, std::byte note, int descriptor, Deadline deadline);
/// Receives what send_descriptor sent. @param socket of Unix. @param deadline at which to give up.
/// @return it; without the descriptor if the system does not let it through. Throws as
/// send_descriptor, and Shortage.
[[nodiscard]] FdMessage receive_descriptor(int socket, Deadline deadline);

/// @param socket of Unix. @return the user that the process at the other end had when it connected
/// or listened. Throws Error{transport}.
[[nodiscard]] uid_t peer_user(int socket);
/// Both ends of a connection.
struct Ends {
  Endpoint here{};   ///< The own address.
  Endpoint there{};  ///< The peer's.
};
/// @param socket any. @return its ends; nothing if it is not connected.
[[nodiscard]] std::optional<Ends> ends_of(int socket) noexcept;
/// @param socket of TCP. @return whether the other end belongs to a process of this host and of
/// this process's user, as far as the system tells; not where that has closed it.
[[nodiscard]] bool is_of_this_user(int socket);
/// @param socket of Unix. @return the process at the other end, as peer_user; nothing where it is
/// in another process namespace.
[[nodiscard]] std::optional<pid_t> peer_process(int socket);

}  // namespace tutti::runtime
