// Real sockets: each pair of processes has a connection through the loopback interface, plain or
// encrypted.
#include "backends/tcp/fabric.hpp"

#include "backends.hpp"
#include "loopback.hpp"
#include "runtime/security/tls.hpp"
#include "tests/support/patience.hpp"

namespace tutti::conformance {
namespace {

std::pair<tcp::Peer, tcp::Peer> encrypted_pair(Rank low, Rank high) {
  runtime::Digest secret{};
  secret.fill(std::byte{1});
  const auto [one, other] = connected_pair();
  const auto ciphers = runtime::encrypt(
      {{.socket = one, .connected = true, .identity = "conformance", .peer = high, .name = "one"},
       {.socket = other, .identity = "conformance", .peer = low, .name = "other"}},
      runtime::Secret{secret}, std::chrono::steady_clock::now() + test::kAmple);
  return {{high, one, ciphers[0]}, {low, other, ciphers[1]}};
}

class TcpLinks final : public Links {
 public:
  TcpLinks(int size, const PairOf& pair_of) : fabrics_{connect_fabrics(size, {}, pair_of)} {}

  std::unique_ptr<Transport> transport(Rank world, const Membership& membership) override {
    return fabrics_[static_cast<std::size_t>(world)]->transport(
        membership.communicator, membership.members, membership.failure_signal);
  }
  void kill(Rank world) override { fabrics_[static_cast<std::size_t>(world)].reset(); }

 private:
  std::vector<std::shared_ptr<tcp::Fabric>> fabrics_;
};

}  // namespace

Backend tcp_backend() {
  return {.name = "tcp", .connect = [](const LinksOptions& options) {
            return std::make_unique<TcpLinks>(options.size, plain_pair);
          }};
}

std::vector<Backend> tls_backends() {
  if (!runtime::has_tls()) return {};
  return {{.name = "tcp", .variant = "_tls", .connect = [](const LinksOptions& options) {
             return std::make_unique<TcpLinks>(options.size, encrypted_pair);
           }}};
}

}  // namespace tutti::conformance
