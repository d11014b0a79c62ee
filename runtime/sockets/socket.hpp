/// @file
/// Sockets with deadlines: a descriptor that closes itself, and the calls that the runtime needs.
/// Every socket made here is non-blocking and closed on exec; every wait ends at its deadline.
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

/// Owns an open file descriptor, or none.
class Descriptor {
 public:
  Descriptor() = default;
  /// @param descriptor open, and owned from now on; or -1.
  explicit Descriptor(int descriptor) noexcept : descriptor_{descriptor} {}
  Descriptor(Descriptor&& other) noexcept : descriptor_{other.release()} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  /// @return the descriptor, or -1.
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }
  /// Gives up ownership. @return the descriptor, or -1.
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  /// Closes the descriptor. @param descriptor replaces it.
  void reset(int descriptor = -1) noexcept;

 private:
  int descriptor_ = -1;
};

/// @param what failed. @param error of errno. @return Error{transport} that contains both.
[[nodiscard]] Error system_error(const std::string& what, int error);

/// @return the argument of poll for a deadline, rounded up; 0 if it has passed.
[[nodiscard]] int milliseconds_until(Deadline deadline) noexcept;

/// Waits until a descriptor is ready; signals do not interrupt it. @param events of poll. @return
/// whether it is ready before the deadline; an error or the end of the stream counts as ready.
/// Throws as next_look.
[[nodiscard]] bool wait_for(int descriptor, short events, Deadline deadline);

/// Listens on one address; port 0 is any free port. Throws Error{transport} that contains the
/// address.
[[nodiscard]] Descriptor listen_on(const Endpoint& address);
/// As listen_on. @return nothing if this host does not have the address.
[[nodiscard]] Descriptor try_listen_on(const Endpoint& address);
/// Listens on an abstract Unix socket, which leaves no file. @param name at most 100 bytes. Throws
/// Error{transport}.
[[nodiscard]] Descriptor listen_locally(std::string_view name);

/// There is no route to an address, or nothing answers there.
struct Unreachable : Error {
  using Error::Error;
};

/// Makes one attempt to connect, without Nagle's delay. Throws Error{transport, timeout} that
/// contains the address, an Unreachable if the system reports that there is no route.
[[nodiscard]] Descriptor connect_to(const Endpoint& address, Deadline deadline);
/// Makes one attempt to connect to an abstract Unix socket of this network namespace. @return the
/// connection, or nothing if no process listens. Throws Error{transport, timeout}.
[[nodiscard]] Descriptor connect_locally(std::string_view name, Deadline deadline);

/// Sends all bytes. Throws Error{timeout, peer_dead, transport}.
void send_all(int descriptor, std::span<const std::byte> bytes, Deadline deadline);
/// Fills `bytes`. Throws Error{timeout, peer_dead, transport}.
void receive_all(int descriptor, std::span<std::byte> bytes, Deadline deadline);

/// A byte over a Unix socket, with or without a descriptor.
struct FdMessage {
  std::byte note{};
  Descriptor descriptor{};
};
/// Sends a byte and a descriptor. @param descriptor not owned; or -1. Throws Error{timeout,
/// peer_dead, transport}.
void send_descriptor(int socket, std::byte note, int descriptor, Deadline deadline);
/// Receives them. @return no descriptor if the system does not pass it. Throws as send_descriptor,
/// and DescriptorShortage.
[[nodiscard]] FdMessage receive_descriptor(int socket, Deadline deadline);

/// @param socket of Unix. @return the user of the process at the other end, at the time it
/// connected or listened. Throws Error{transport}.
[[nodiscard]] uid_t peer_user(int socket);
/// The addresses of a connection's ends.
struct ConnectionAddresses {
  Endpoint local{};
  Endpoint remote{};
};
/// @return the addresses of a socket; nothing if it is not connected.
[[nodiscard]] std::optional<ConnectionAddresses> addresses_of(int socket) noexcept;
/// @param socket of TCP. @return whether the other end is a process of this user on this host, as
/// far as the system shows; false if the peer has closed it.
[[nodiscard]] bool is_of_this_user(int socket);
/// @param socket of Unix. @return the process at the other end, as peer_user; nothing if it is in
/// another process namespace.
[[nodiscard]] std::optional<pid_t> peer_process(int socket);

}  // namespace tutti::runtime
