#include "strangers.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <random>
#include <vector>

#include "ranks.hpp"
#include "runtime/authenticate.hpp"

namespace tutti::test {

using namespace std::chrono_literals;
using runtime::Descriptor;

Stranger::Stranger(std::uint16_t port)
    : listener_{runtime::listen_on(runtime::with_port(runtime::loopback(), port))} {}

std::uint16_t Stranger::listening_port() const {
  return runtime::port_of(runtime::bound_endpoint(listener_.get()));
}

void Stranger::accept_and_send(const std::string& text) {
  if (!runtime::wait_for(listener_.get(), POLLIN, in(10s))) return;
  const Descriptor caller{::accept(listener_.get(), nullptr, nullptr)};
  (void)::send(caller.get(), text.data(), text.size(), MSG_NOSIGNAL);
  ::shutdown(caller.get(), SHUT_WR);
  std::array<char, 256> rest;
  while (::recv(caller.get(), rest.data(), rest.size(), 0) > 0) {
  }
}

std::uint16_t free_port() {
  return Stranger{0}.listening_port();
}

Descriptor call(std::uint16_t port) {
  try {
    return runtime::connect_to(runtime::with_port(runtime::loopback(), port), in(1s));
  } catch (const Error&) {
    return {};
  }
}

void disturb(std::uint16_t port, unsigned seed) {
  std::minstd_rand random{seed};
  const auto send = [](const Descriptor& socket, std::span<const std::byte> bytes) {
    return ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
  };
  const runtime::Party party{
      .job = random() % 2 == 0 ? 7u : random(), .size = 3, .rank = 2, .secret = secret_of(5)};
  runtime::ConnectorHandshake handshake{party, 0, runtime::Purpose::store};
  std::vector<std::byte> bytes{handshake.hello().begin(), handshake.hello().end()};
  std::vector<Descriptor> sockets;
  const std::size_t crowd = random() % 4 == 0 ? 200 : 1;
  for (std::size_t i = 0; i < crowd; ++i) sockets.push_back(call(port));
  for (const Descriptor& socket : sockets) {
    switch (random() % 5) {
      case 0: break;  // a port scan, or a half-open connection
      case 1:         // garbage
        bytes.resize(random() % 5000);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        (void)send(socket, bytes);
        break;
      case 2:  // a truncated greeting
        (void)send(socket, std::span{bytes}.first(random() % (bytes.size() + 1)));
        break;
      case 3:  // a good greeting, then garbage
        (void)send(socket, handshake.hello());
        (void)send(socket, handshake.hello());
        break;
      default:  // a greeting with one bit wrong
        if (!bytes.empty()) bytes[random() % bytes.size()] ^= std::byte{1};
        (void)send(socket, bytes);
    }
  }
}

}  // namespace tutti::test
