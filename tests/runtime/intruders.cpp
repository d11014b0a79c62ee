#include "tests/runtime/intruders.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/security/authenticate.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {

using namespace std::chrono_literals;
using runtime::Descriptor;

UnauthenticatedPeer::UnauthenticatedPeer(std::uint16_t port)
    : listener_{runtime::listen_on(runtime::with_port(runtime::loopback(), port))} {}

std::uint16_t UnauthenticatedPeer::listening_port() const {
  return runtime::port_of(runtime::bound_endpoint(listener_.get()));
}

void UnauthenticatedPeer::accept_and_send(const std::string& text) {
  if (!runtime::wait_for(listener_.get(), POLLIN, in(kAmple))) return;
  const Descriptor caller{::accept(listener_.get(), nullptr, nullptr)};
  (void)::send(caller.get(), text.data(), text.size(), MSG_NOSIGNAL);
  ::shutdown(caller.get(), SHUT_WR);
  std::array<char, 256> rest;
  while (::recv(caller.get(), rest.data(), rest.size(), 0) > 0) {
  }
}

std::uint16_t free_port() {
  return UnauthenticatedPeer{0}.listening_port();
}

Descriptor call(std::uint16_t port) {
  try {
    return runtime::connect_to(runtime::with_port(runtime::loopback(), port), in(kAmple));
  } catch (const Error&) {
    return {};
  }
}

std::vector<Place> listening_places(const std::string& process) {
  std::set<std::string> own;
  const std::string folder = "/proc/" + process;
  for (const auto& entry : std::filesystem::directory_iterator{folder + "/fd"}) {
    std::error_code gone;
    const std::string link = std::filesystem::read_symlink(entry.path(), gone).string();
    if (link.starts_with("socket:[")) own.insert(link.substr(8, link.size() - 9));
  }
  std::vector<Place> places;
  const auto lines = [&folder](const char* file, const auto& read) {
    std::ifstream table{folder + file};
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields{line};
      read(std::vector<std::string>{std::istream_iterator<std::string>{fields}, {}});
    }
  };
  lines("/net/tcp", [&](const std::vector<std::string>& field) {
    if (field.size() < 10 || field[3] != "0A" || !own.contains(field[9])) return;
    const std::string port = field[1].substr(field[1].find(':') + 1);
    places.push_back({static_cast<std::uint16_t>(std::stoul(port, nullptr, 16)), {}});
  });
  lines("/net/unix", [&](const std::vector<std::string>& field) {
    constexpr const char* kListens = "00010000";
    if (field.size() < 8 || field[3] != kListens || !own.contains(field[6])) return;
    places.push_back({0, field[7].substr(1)});  // '@' stands for the zero in front
  });
  return places;
}

Descriptor call(const Place& place) {
  constexpr auto kPatience = 50ms;
  try {
    if (place.port == 0) return runtime::connect_locally(place.name, in(kPatience));
    return runtime::connect_to(runtime::with_port(runtime::loopback(), place.port), in(kPatience));
  } catch (const Error&) {
    return {};
  }
}

int disturb(const Place& place, unsigned seed) {
  std::minstd_rand random{seed};
  const auto send = [](const Descriptor& socket, std::span<const std::byte> bytes) {
    return ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  };
  const runtime::Identity identity{
      .job = random() % 2 == 0 ? 7u : random(), .size = 3, .rank = 2, .secret = secret_of(5)};
  const runtime::Purpose purpose =
      place.port == 0 ? runtime::Purpose::local : static_cast<runtime::Purpose>(random() % 3);
  runtime::ConnectorHandshake handshake{identity, 0, purpose};
  std::vector<std::byte> bytes{handshake.hello().begin(), handshake.hello().end()};
  std::vector<Descriptor> sockets;
  const std::size_t crowd = random() % 4 == 0 ? 200 : 1;
  while (sockets.size() < crowd) {
    Descriptor socket = call(place);
    if (!socket) break;  // no process accepts, and the system's queue is full
    sockets.push_back(std::move(socket));
  }
  for (const Descriptor& socket : sockets) {
    if (const linger reset{.l_onoff = 1, .l_linger = 0}; random() % 2 == 0)
      ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    switch (random() % 6) {
      case 0: break;  // a port scan, or a half-open connection
      case 1:         // garbage, much more than any greeting
        bytes.resize(random() % 100'000);
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
      case 4:  // a good greeting, byte by byte
        for (const std::byte& byte : handshake.hello()) (void)send(socket, {&byte, 1});
        break;
      default:  // a greeting with one bit wrong
        if (!bytes.empty()) bytes[random() % bytes.size()] ^= std::byte{1};
        (void)send(socket, bytes);
    }
  }
  return static_cast<int>(sockets.size());
}

bool answers(const Place& place, Deadline deadline) {
  while (Clock::now() < deadline) {
    const Descriptor caller = call(place);
    if (!caller) {  // the system keeps no more waiting
      std::this_thread::sleep_for(1ms);
      continue;
    }
    const std::array<std::byte, 500> garbage{};
    (void)::send(caller.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return runtime::wait_for(caller.get(), POLLIN, deadline);  // an answer, or the end
  }
  return false;
}

int attack(const std::vector<Place>& places, int inputs, unsigned seed) {
  constexpr int kInARow = 100;  // far fewer than the system keeps waiting
  int heard = 0;
  std::size_t deaf = 0;
  for (std::size_t turn = 0; heard < inputs && deaf < places.size(); ++turn) {
    const Place& place = places[turn % places.size()];
    int made = 0;
    for (int tries = 0; made < kInARow && tries < kInARow; ++tries) made += disturb(place, seed++);
    if (answers(place, in(10s))) heard += made;
    else ++deaf;
  }
  return heard;
}

}  // namespace tutti::test
