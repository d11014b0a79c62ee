/// @file
/// Network addresses: text, names, and which one of this host's addresses to listen on.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// An address of a socket: IPv4 or IPv6 with a port, or Unix.
struct Endpoint {
  sockaddr_storage storage{};  ///< As the system wants it.
  socklen_t length = 0;        ///< Bytes of storage in use.

  /// @return what bind and connect take.
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

/// A host, by name or number, and a port.
struct HostAndPort {
  std::string host;        ///< Without brackets.
  std::uint16_t port = 0;  ///< 0 means any.
};

/// @param text "host:port", "1.2.3.4:port" or "[::1]:port". @return its two parts. Throws
/// Error{invalid_argument} that quotes the text.
[[nodiscard]] HostAndPort parse_host_and_port(std::string_view text);
/// @param where any. @return "host:port", a number of IPv6 in brackets, as parse_host_and_port
/// reads it.
[[nodiscard]] std::string text_of(const HostAndPort& where);
/// @param host any. @return whether it is a number of IPv4 or IPv6, which needs no look-up.
[[nodiscard]] bool is_number(const std::string& host);
/// @param endpoint of IPv4 or IPv6. @return "1.2.3.4:5" or "[::1]:5", which parse_host_and_port
/// takes.
[[nodiscard]] std::string text_of(const Endpoint& endpoint);
/// @param endpoint of IPv4 or IPv6. @return whether only this host can reach it.
[[nodiscard]] bool is_loopback(const Endpoint& endpoint) noexcept;
/// @param endpoint of IPv4 or IPv6. @return its port.
[[nodiscard]] std::uint16_t port_of(const Endpoint& endpoint) noexcept;
/// @param endpoint of IPv4 or IPv6. @param port to have. @return the same address with that port.
[[nodiscard]] Endpoint with_port(Endpoint endpoint, std::uint16_t port) noexcept;
/// @return where a socket is bound. @param descriptor of the socket. Throws Error{transport}.
[[nodiscard]] Endpoint bound_endpoint(int descriptor);

/// The addresses of a host, each once. A number is taken as it is. A name that is not known is
/// looked up again until the deadline, since names of hosts that start together may become known
/// late. Each look-up has a thread of its own, since the system's resolver takes no deadline; when
/// the deadline passes first, the thread is left to end when the resolver gives up, as
/// /etc/resolv.conf says (5 s per server and attempt).
/// @param where host and port. @param deadline at which to give up.
/// @return at least one. Throws Error{transport, timeout} that names the host.
[[nodiscard]] std::vector<Endpoint> resolve(const HostAndPort& where, Deadline deadline);

/// @return 127.0.0.1, port 0.
[[nodiscard]] Endpoint loopback();
/// The local address from which packets to a target would leave; none is sent.
/// @param target an address of another host, or of this one. @return it, port 0. Throws
/// Error{transport} if there is no route.
[[nodiscard]] Endpoint source_towards(const Endpoint& target);
/// The local address that other hosts most likely know: where the default route leaves, or else the
/// first address of an interface that is up and not the loopback.
/// @return it, port 0. Throws Error{transport} if this host has none.
[[nodiscard]] Endpoint outward_address();
/// The address that a user asked for. @param wish an interface such as "eth1", or an address of
/// this host. @return it, port 0. Throws Error{invalid_argument} that says which interfaces there
/// are.
[[nodiscard]] Endpoint chosen_address(const std::string& wish);
/// The advice for a rank that listens at an address that others cannot reach.
inline constexpr std::string_view kHowToBeReached =
    "if the host there has several networks, set TUTTI_ADDRESS on its ranks to the interface or "
    "address at which the others reach it";
/// @return the interfaces of this host and their addresses, such as "lo (127.0.0.1), eth0
/// (10.0.0.5)".
[[nodiscard]] std::string interfaces_text();

}  // namespace tutti::runtime
