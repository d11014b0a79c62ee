// The owner of the other end of a socket.
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "runtime/sockets/socket.hpp"

namespace tutti::runtime {
namespace {

/// An address as the system's tables have it: words of the memory it lies in, and the port.
std::string row_text(const sockaddr_storage& address) {
  std::array<std::uint32_t, 4> words{};
  std::size_t count = 1;
  std::uint16_t port = 0;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    words[0] = v4.sin_addr.s_addr;
    port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(words.data(), &v6.sin6_addr, sizeof words);
    count = words.size();
    port = ntohs(v6.sin6_port);
  }
  std::string text;
  std::array<char, 16> part;
  for (std::size_t i = 0; i < count; ++i) {
    std::snprintf(part.data(), part.size(), "%08X", words[i]);
    text += part.data();
  }
  std::snprintf(part.data(), part.size(), ":%04X", static_cast<unsigned>(port));
  return text + part.data();
}

}  // namespace

std::optional<ConnectionAddresses> addresses_of(int socket) noexcept {
  ConnectionAddresses addresses;
  addresses.local.length = addresses.remote.length = sizeof(sockaddr_storage);
  auto* const here = reinterpret_cast<sockaddr*>(&addresses.local.storage);
  auto* const there = reinterpret_cast<sockaddr*>(&addresses.remote.storage);
  if (::getsockname(socket, here, &addresses.local.length) != 0 ||
      ::getpeername(socket, there, &addresses.remote.length) != 0)
    return {};
  return addresses;
}

bool is_of_this_user(int socket) {
  const std::optional<ConnectionAddresses> addresses = addresses_of(socket);
  if (!addresses) return false;
  const std::string wanted =
      row_text(addresses->remote.storage) + " " + row_text(addresses->local.storage) + " ";
  std::ifstream table{addresses->local.storage.ss_family == AF_INET ? "/proc/net/tcp"
                                                                    : "/proc/net/tcp6"};
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.find(wanted);
    if (at == std::string::npos) continue;
    unsigned user = 0;
    unsigned long inode = 0;  // 0: no process has the socket any more, and the user is unknown
    const char* const rest = line.c_str() + at + wanted.size();
    const int fields = std::sscanf(rest, "%*x %*x:%*x %*x:%*x %*x %u %*u %lu", &user, &inode);
    if (fields == 2 && inode != 0) return user == ::geteuid();
  }
  return false;
}

}  // namespace tutti::runtime
