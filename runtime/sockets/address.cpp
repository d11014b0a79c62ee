#include "address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tutti/spi/service_thread.hpp>

#include "descriptors.hpp"
#include "interruptible.hpp"
#include "missing_ranks.hpp"
#include "socket.hpp"

namespace tutti::runtime {
namespace {

/// A look-up by the resolver, shared by the caller and the thread that waits for the result.
struct LookUp {
  std::string host;
  std::mutex mutex{};
  std::condition_variable answered{};
  bool done = false;
  int failure = 0;
  std::vector<Endpoint> found{};
};

Endpoint copy_of(const sockaddr* address) {
  Endpoint endpoint;
  endpoint.length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&endpoint.storage, address, endpoint.length);
  return with_port(endpoint, 0);
}

/// Appends the addresses of a host. @return getaddrinfo's status.
int look_up(const std::string& host, int flags, std::vector<Endpoint>& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (status != 0) return status;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next)
    if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6)
      found.push_back(copy_of(entry->ai_addr));
  ::freeaddrinfo(list);
  return found.empty() ? EAI_NONAME : 0;
}

/// Starts a thread that may outlive its caller.
void start_look_up(const std::shared_ptr<LookUp>& shared) {
  start_service_thread("tutti-look-up", [shared] {
    std::vector<Endpoint> found;
    const int failure = look_up(shared->host, 0, found);
    const std::lock_guard lock{shared->mutex};
    shared->failure = failure;
    shared->found = std::move(found);
    shared->done = true;
    shared->answered.notify_all();
  }).detach();
}

using Interfaces = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>;

Interfaces interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("cannot list the network interfaces", errno);
  return {list, &::freeifaddrs};
}

/// The first address of this host for which accept() is true, IPv4 before IPv6.
template <class Accept>
std::optional<Endpoint> first_interface(Accept accept) {
  const Interfaces list = interfaces();
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next)
      if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family && accept(*entry))
        return copy_of(entry->ifa_addr);
  return {};
}

bool same_host(const Endpoint& a, const Endpoint& b) {
  return text_of(with_port(a, 0)) == text_of(with_port(b, 0));
}

/// Whether a later look-up may succeed. Other failures are for lack of memory or descriptors.
bool may_become_known(int failure) noexcept {
  return failure != EAI_MEMORY && failure != EAI_SYSTEM && failure != EAI_FAMILY;
}

/// Looks up a name once. @return getaddrinfo's status, or nothing at the deadline.
std::optional<int> look_up_name(const std::string& host, std::vector<Endpoint>& found,
                                Deadline deadline) {
  auto shared = std::make_shared<LookUp>();
  shared->host = host;
  start_look_up(shared);
  std::unique_lock lock{shared->mutex};
  while (!shared->answered.wait_until(lock, next_look(deadline), [&] { return shared->done; }))
    if (std::chrono::steady_clock::now() >= deadline) return {};
  found = std::move(shared->found);
  return shared->failure;
}

/// Looks up a name again and again until the resolver knows it.
std::vector<Endpoint> await_name(const std::string& host, Deadline deadline) {
  using std::chrono::milliseconds;
  constexpr milliseconds kFirstPause{50};
  constexpr milliseconds kLastPause{1000};
  const auto start = std::chrono::steady_clock::now();
  std::string why = "the resolver does not answer";
  std::vector<Endpoint> found;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLastPause)) {
    const std::optional<int> failure = look_up_name(host, found, deadline);
    if (failure == 0) return found;
    if (failure) why = ::gai_strerror(*failure);
    const std::string text = "cannot look up the host \"" + host + "\": " + why;
    if (failure && !may_become_known(*failure)) throw Error{ErrorCode::transport, text};
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline)
      throw Error{ErrorCode::timeout, text + ", for " + seconds_text(now - start)};
    sleep_until(std::min(now + pause, deadline));
  }
}

}  // namespace

HostAndPort parse_host_and_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  HostAndPort parts;
  bool good = colon != std::string_view::npos && colon > 0;
  if (good) {
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    else good = host.find_first_of(":[]") == std::string_view::npos;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parts.port);
    good = good && error == std::errc{} && end == port.data() + port.size();
    parts.host = host;
  }
  if (!good)
    throw Error{ErrorCode::invalid_argument,
                "\"" + std::string{text} + "\" is not host:port with a port of 0 to 65535"};
  return parts;
}

std::string text_of(const HostAndPort& address) {
  const bool bracketed = address.host.find(':') != std::string::npos;
  return (bracketed ? "[" : "") + address.host + (bracketed ? "]:" : ":") +
         std::to_string(address.port);
}

bool is_number(const std::string& host) {
  std::vector<Endpoint> found;
  return look_up(host, AI_NUMERICHOST, found) == 0;
}

std::string text_of(const Endpoint& endpoint) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(endpoint.get(), endpoint.length, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an address that cannot be printed";
  const bool bracketed = endpoint.storage.ss_family == AF_INET6;
  return (bracketed ? "[" : "") + std::string{host.data()} + (bracketed ? "]:" : ":") + port.data();
}

bool is_loopback(const Endpoint& endpoint) noexcept {
  if (endpoint.storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &endpoint.storage, sizeof address);
    return ntohl(address.sin_addr.s_addr) >> 24 == 127;
  }
  sockaddr_in6 address{};
  std::memcpy(&address, &endpoint.storage, sizeof address);
  return std::memcmp(&address.sin6_addr, &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

std::uint16_t port_of(const Endpoint& endpoint) noexcept {
  // Both families have the port at the same offset.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  sockaddr_in address{};
  std::memcpy(&address, &endpoint.storage, sizeof address);
  return ntohs(address.sin_port);
}

Endpoint with_port(Endpoint endpoint, std::uint16_t port) noexcept {
  const std::uint16_t wire = htons(port);
  std::memcpy(reinterpret_cast<char*>(&endpoint.storage) + offsetof(sockaddr_in, sin_port), &wire,
              sizeof wire);
  return endpoint;
}

Endpoint bound_endpoint(int descriptor) {
  Endpoint endpoint;
  endpoint.length = sizeof endpoint.storage;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&endpoint.storage), &endpoint.length) !=
      0)
    throw system_error("cannot read the address of a socket", errno);
  return endpoint;
}

std::vector<Endpoint> resolve(const HostAndPort& address, Deadline deadline) {
  std::vector<Endpoint> found;
  if (look_up(address.host, AI_NUMERICHOST, found) != 0) found = await_name(address.host, deadline);
  std::vector<Endpoint> each;
  for (const Endpoint& endpoint : found)
    if (std::ranges::none_of(each, [&](const Endpoint& e) { return same_host(e, endpoint); }))
      each.push_back(with_port(endpoint, address.port));
  return each;
}

Endpoint loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return copy_of(reinterpret_cast<const sockaddr*>(&address));
}

Endpoint source_towards(const Endpoint& target) {
  const Descriptor probe{::socket(target.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  const Endpoint any_port = port_of(target) == 0 ? with_port(target, 9) : target;
  if (!probe || ::connect(probe.get(), any_port.get(), any_port.length) != 0)
    throw_system_error("there is no route to " + text_of(target), errno);
  return with_port(bound_endpoint(probe.get()), 0);
}

Endpoint outward_address() {
  // An address for documentation (RFC 5737), so that the default route is taken.
  sockaddr_in elsewhere{};
  elsewhere.sin_family = AF_INET;
  elsewhere.sin_addr.s_addr = htonl(0xC0000201);
  try {
    return source_towards(copy_of(reinterpret_cast<const sockaddr*>(&elsewhere)));
  } catch (const Error&) {  // there is no default route: list the interfaces
  }
  const auto found = first_interface([](const ifaddrs& entry) {
    return (entry.ifa_flags & IFF_UP) != 0 && (entry.ifa_flags & IFF_LOOPBACK) == 0;
  });
  if (!found)
    throw Error{ErrorCode::transport, "this host has no address that other hosts could reach"};
  return *found;
}

Endpoint configured_address(const std::string& text) {
  if (const auto found = first_interface([&](const ifaddrs& e) { return text == e.ifa_name; }))
    return *found;
  std::vector<Endpoint> numbers;
  if (look_up(text, AI_NUMERICHOST, numbers) == 0 &&
      (is_loopback(numbers.front()) || first_interface([&](const ifaddrs& entry) {
         return same_host(copy_of(entry.ifa_addr), numbers.front());
       })))
    return numbers.front();
  throw Error{ErrorCode::invalid_argument,
              "TUTTI_ADDRESS, or InitOptions::address, is '" + text +
                  "', but must be an interface or an address of this host, which has " +
                  interfaces_text()};
}

std::string interfaces_text() {
  std::string text;
  const Interfaces list = interfaces();
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    std::string address = text_of(copy_of(entry->ifa_addr));
    address.resize(address.rfind(':'));
    text += (text.empty() ? "" : ", ") + std::string{entry->ifa_name} + " (" + address + ")";
  }
  return text.empty() ? "no address of IPv4" : text;
}

}  // namespace tutti::runtime
