/// @file
/// Network addresses: text, names, and the choice of a local address to listen on.
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
  sockaddr_storage storage{};  ///< As system calls expect it.
  socklen_t length = 0;        ///< Bytes of storage in use.

  /// @return the argument of bind and connect.
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

/// A host, by name or number, and a port.
struct HostAndPort {
  std::string host;        ///< Without brackets.
  std::uint16_t port = 0;  ///< 0 means any.
};

/// Parses "host:port", "1.2.3.4:port" or "[::1]:port". Throws Error{invalid_argument} that quotes
/// the text.
[[nodiscard]] HostAndPort parse_host_and_port(std::string_view text);
/// @return "host:port", with brackets around an IPv6 address, as parse_host_and_port reads it.
[[nodiscard]] std::string text_of(const HostAndPort& address);
/// @return whether the host is an IPv4 or IPv6 address, which needs no look-up.
[[nodiscard]] bool is_number(const std::string& host);
/// @param endpoint of IPv4 or IPv6, as in the next three functions. @return "1.2.3.4:5" or
/// "[::1]:5", as parse_host_and_port reads it.
[[nodiscard]] std::string text_of(const Endpoint& endpoint);
/// @return whether only this host can reach it.
[[nodiscard]] bool is_loopback(const Endpoint& endpoint) noexcept;
[[nodiscard]] std::uint16_t port_of(const Endpoint& endpoint) noexcept;
/// @return the same address with another port.
[[nodiscard]] Endpoint with_port(Endpoint endpoint, std::uint16_t port) noexcept;
/// @return the address to which a socket is bound. Throws Error{transport}.
[[nodiscard]] Endpoint bound_endpoint(int descriptor);

/// Finds the addresses of a host, each once; an IP address needs no look-up. An unknown name is
/// looked up again until the deadline, since names of hosts that start together may become known
/// late. Each look-up runs in its own thread, since the system's resolver takes no deadline. At the
/// deadline the thread is left behind; it ends when the resolver gives up, by default after 5 s per
/// server and attempt (/etc/resolv.conf).
/// @return at least one. Throws Error{transport, timeout} that names the host.
[[nodiscard]] std::vector<Endpoint> resolve(const HostAndPort& address, Deadline deadline);

/// @return 127.0.0.1 with port 0.
[[nodiscard]] Endpoint loopback();
/// Finds the local address from which packets to a target would leave; no packet is sent. @return
/// it, with port 0. Throws Error{transport} if there is no route.
[[nodiscard]] Endpoint source_towards(const Endpoint& target);
/// Finds the local address that other hosts most likely know: the source address of the default
/// route, or else the first address of an interface that is up and not the loopback. @return it,
/// with port 0. Throws Error{transport} if this host has none.
[[nodiscard]] Endpoint outward_address();
/// @param text an interface such as "eth1", or an address of this host. @return the address, with
/// port 0. Throws Error{invalid_argument} that lists the interfaces.
[[nodiscard]] Endpoint configured_address(const std::string& text);
/// The advice for a rank that listens on an address that other hosts cannot reach.
inline constexpr std::string_view kReachabilityHint =
    "if the host there has several networks, set TUTTI_ADDRESS on its ranks to the interface or "
    "address at which the others reach it";
/// @return the interfaces of this host and their addresses, such as "lo (127.0.0.1), eth0
/// (10.0.0.5)".
[[nodiscard]] std::string interfaces_text();

}  // namespace tutti::runtime
