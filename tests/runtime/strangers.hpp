/// @file
/// Peers that do not belong: other services, scanners, floods.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/socket.hpp"

namespace tutti::test {

/// Another service on this host.
class Stranger {
 public:
  /// Listens. @param port 0 for any.
  explicit Stranger(std::uint16_t port);
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
/// Does one of many bad things to a port of the loopback. @param seed says which.
void disturb(std::uint16_t port, unsigned seed);

}  // namespace tutti::test
