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
  /// Takes one caller, sends it something and hears it out.
  void accept_and_send(const std::string& text);

 private:
  runtime::Descriptor listener_;
};

/// @return a port of the loopback on which nobody listens.
std::uint16_t free_port();
/// @return a connection to a port of the loopback, or nothing.
runtime::Descriptor call(std::uint16_t port);

/// Where someone listens on this host: a port of the loopback, or an abstract Unix socket.
struct Place {
  std::uint16_t port = 0;  ///< 0 for a Unix socket.
  std::string name{};      ///< Of that.
};
/// @param process its number, or "self". @return where it listens.
std::vector<Place> listening_places(const std::string& process = "self");
/// Comes with nonsense and waits for what is said to it. Callers are taken in the order they came,
/// so that whoever came there before has been heard too. @param place where. @param deadline of the
/// answer. @return whether it came.
bool answers(const Place& place, Deadline deadline);
/// Many connections, dealt out to places, of which most do bad things. @param places at least one.
/// @param inputs how many are enough. @param seed says which. @return those that were heard, and
/// not just kept waiting by the system: fewer if nobody is there to hear them.
int attack(const std::vector<Place>& places, int inputs, unsigned seed);
/// @return a connection to a place, or nothing.
runtime::Descriptor call(const Place& place);
/// Does one of many bad things at a place. @param seed says which. @return the connections made.
int disturb(const Place& place, unsigned seed);

}  // namespace tutti::test
