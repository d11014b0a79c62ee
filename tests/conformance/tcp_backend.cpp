// Real sockets: each pair of processes has a connection through the loopback interface.
#include "backends/tcp/fabric.hpp"

#include "backends.hpp"
#include "loopback.hpp"

namespace tutti::conformance {
namespace {

class TcpLinks final : public Links {
 public:
  explicit TcpLinks(const LinksOptions& options) : fabrics_{connect_fabrics(options.size, {})} {}

  std::unique_ptr<Transport> transport(Rank world, const Membership& membership) override {
    return fabrics_[static_cast<std::size_t>(world)]->transport(
        membership.communicator, membership.members, membership.alarm);
  }
  void kill(Rank world) override { fabrics_[static_cast<std::size_t>(world)].reset(); }

 private:
  std::vector<std::shared_ptr<tcp::Fabric>> fabrics_;
};

}  // namespace

Backend tcp_backend() {
  return {.name = "tcp", .connect = [](const LinksOptions& options) {
            return std::make_unique<TcpLinks>(options);
          }};
}

}  // namespace tutti::conformance
