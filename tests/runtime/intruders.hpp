/// @file
/// Peers that do not belong: other services, scanners, floods.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sockets/socket.hpp"

namespace tutti::test {

/// Another service on this host.
class UnauthenticatedPeer {
 public:
  /// Listens. @param port 0 for any.
  explicit UnauthenticatedPeer(std::uint16_t port);
  /// @return where.
  [[nodiscard]] std::uint16_t listening_port() const;
  /// Accepts one caller, sends it something and reads to its end.
  void accept_and_send(const std::string& text);

 private:
  runtime::Descriptor listener_;
};

/// @return a port of the loopback without a listener.
std::uint16_t free_port();
/// @return a connection to a port of the loopback, or nothing.
runtime::Descriptor call(std::uint16_t port);

/// A listener on this host: a port of the loopback, or an abstract Unix socket.
struct Place {
  std::uint16_t port = 0;  ///< 0 for a Unix socket.
  std::string name{};      ///< The socket's name.
};
/// @param process its number, or "self". @return where it listens.
std::vector<Place> listening_places(const std::string& process = "self");
/// Sends invalid data and waits for the answer. Listeners accept in order, so earlier callers have
/// been read too. @param deadline of the answer. @return whether it came.
bool answers(const Place& place, Deadline deadline);
/// Makes many connections to places, most of them hostile. @param places at least one. @param
/// inputs how many are enough. @param seed of the choice. @return those that a rank accepted: fewer
/// if none listens.
int attack(const std::vector<Place>& places, int inputs, unsigned seed);
/// @return a connection to a place, or nothing.
runtime::Descriptor call(const Place& place);
/// Does one of many bad things at a place. @param seed says which. @return the connections made.
int disturb(const Place& place, unsigned seed);

}  // namespace tutti::test
