/// @file
/// Connected TCP sockets within a process.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/tcp/fabric.hpp"

namespace tutti::conformance {

/// @return both ends of a connection through the loopback interface.
[[nodiscard]] inline std::pair<int, int> connected_pair() {
  const auto check = [](bool good) {
    if (!good) throw std::runtime_error{"cannot connect to the own host"};
  };
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(listener >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  check(bind(listener, generic, length) == 0 && listen(listener, 1) == 0);
  check(getsockname(listener, generic, &length) == 0);
  const int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(one >= 0 && connect(one, generic, length) == 0);
  const int other = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  check(other >= 0);
  close(listener);
  return {one, other};
}

/// Connects two processes. The first is what the lower rank needs of the higher one.
using PairOf = std::function<std::pair<tcp::Peer, tcp::Peer>(Rank low, Rank high)>;
/// @param low a rank. @param high another one. @return a connection between them.
[[nodiscard]] inline std::pair<tcp::Peer, tcp::Peer> plain_pair(Rank low, Rank high) {
  const auto [one, other] = connected_pair();
  return {{high, one}, {low, other}};
}

/// @param size number of processes. @param options of their fabrics. @param pair_of connects two of
/// them. @return the fabric of each.
[[nodiscard]] inline std::vector<std::shared_ptr<tcp::Fabric>> connect_fabrics(
    int size, const tcp::Options& options, const PairOf& pair_of = plain_pair) {
  std::vector<std::vector<tcp::Peer>> peers(static_cast<std::size_t>(size));
  for (Rank low = 0; low < size; ++low)
    for (Rank high = low + 1; high < size; ++high) {
      const auto [one, other] = pair_of(low, high);
      peers[static_cast<std::size_t>(low)].push_back(one);
      peers[static_cast<std::size_t>(high)].push_back(other);
    }
  std::vector<std::shared_ptr<tcp::Fabric>> fabrics{};
  for (Rank rank = 0; rank < size; ++rank)
    fabrics.push_back(
        std::make_shared<tcp::Fabric>(rank, peers[static_cast<std::size_t>(rank)], options));
  return fabrics;
}

}  // namespace tutti::conformance
