#include "bootstrap.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "failure.hpp"
#include "faults.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::uint64_t kMagic = 0x74757474696E6363;

std::string name_of(const Membership& membership, int rank) {
  return "tutti-nccl-standin-" + membership.name + '-' + std::to_string(rank);
}

}  // namespace

Bootstrap::Bootstrap(Membership membership, const Device& device)
    : membership_{std::move(membership)}, own_{.magic = kMagic,
                                               .size = membership_.size,
                                               .rank = membership_.rank,
                                               .device = device.uuid},
      listener_{listen_at(name_of(membership_, membership_.rank))},
      peers_(static_cast<std::size_t>(membership_.size)), missing_{kChannels *
                                                                   (peers_.size() - 1)} {
  peers_[static_cast<std::size_t>(membership_.rank)].hello = own_;
}

bool Bootstrap::progress() {
  ask();
  accept();
  for (Greeting& greeting : greetings_)
    if (listen(greeting)) complete(greeting);
  std::erase_if(greetings_, [](const Greeting& greeting) { return !greeting.socket; });
  return missing_ == 0;
}

void Bootstrap::ask() {
  for (int rank = 0; rank < membership_.rank; ++rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      if (peer.asked[channel]) continue;
      Socket made = try_connect(name_of(membership_, rank));
      if (!made) continue;
      say_hello(made, channel);
      peer.asked[channel] = true;
      greetings_.push_back({.socket = std::move(made)});
    }
  }
}

void Bootstrap::accept() {
  while (Socket made = try_accept(listener_))
    greetings_.push_back({.socket = std::move(made), .accepted = true});
}

// Whether the other end has said all of it.
bool Bootstrap::listen(Greeting& greeting) {
  const auto received =
      receive_some(greeting.socket, std::span{greeting.bytes}.subspan(greeting.received));
  require(received.has_value(), ncclSystemError, "a peer has given up connecting");
  greeting.received += *received;
  return greeting.received == sizeof(Hello);
}

void Bootstrap::complete(Greeting& greeting) {
  Hello hello;
  std::memcpy(&hello, greeting.bytes.data(), sizeof hello);
  expect(hello);
  Peer& peer = peers_[static_cast<std::size_t>(hello.rank)];
  if (greeting.accepted) say_hello(greeting.socket, hello.channel);
  keep_little(greeting.socket);
  peer.hello = hello;
  peer.sockets[hello.channel] = std::move(greeting.socket);
  --missing_;
}

void Bootstrap::say_hello(const Socket& socket, std::uint64_t channel) const {
  Hello hello = own_;
  hello.channel = channel;
  std::array parts{iovec{.iov_base = &hello, .iov_len = sizeof hello}};
  require(send_some(socket, parts) == sizeof hello, ncclSystemError,
          "a peer has given up connecting");
}

void Bootstrap::expect(const Hello& hello) const {
  require(hello.magic == kMagic && hello.channel < kChannels, ncclSystemError,
          "something else than a rank has connected");
  require(hello.size == membership_.size, ncclInternalError,
          "the ranks give different numbers of ranks");
  const bool exists =
      hello.rank >= 0 && hello.rank < membership_.size && hello.rank != membership_.rank;
  require(exists && !peers_[static_cast<std::size_t>(hello.rank)].sockets[hello.channel],
          ncclInternalError, "a rank has connected twice");
}

void Bootstrap::check_devices() const {
  if (variable("NCCL_MULTI_RANK_GPU_ENABLE") == "1") return;
  for (auto peer = peers_.begin(); peer != peers_.end(); ++peer)
    require(
        std::none_of(peers_.begin(), peer,
                     [&](const Peer& other) { return other.hello.device == peer->hello.device; }),
        ncclInvalidUsage, "two ranks have the same device");
}

std::vector<Link> Bootstrap::take_links() {
  std::vector<Link> links;
  for (Peer& peer : peers_)
    links.emplace_back(std::move(peer.sockets[0]), std::move(peer.sockets[1]));
  return links;
}

std::vector<Socket> Bootstrap::take_sockets() {
  std::vector<Socket> sockets;
  for (Peer& peer : peers_) sockets.push_back(std::move(peer.sockets[2]));
  return sockets;
}

}  // namespace tutti::nccl_standin
