// Processes on pretended hosts: shared memory inside a host, the loopback interface between hosts,
// and a control plane that reports failures, as in a real world.

#include <sys/socket.h>
#include <unistd.h>

#include "backends/hybrid/hybrid.hpp"
#include "backends/shm/domain.hpp"
#include "runtime/control/control.hpp"

#include "backends.hpp"
#include "loopback.hpp"

namespace tutti::conformance {
namespace {

/// A process: all that a world has but the communicators.
struct Process {
  std::shared_ptr<shm::Segment> segment{};
  std::shared_ptr<shm::Domain> domain{};
  std::shared_ptr<tcp::Fabric> fabric{};
  std::shared_ptr<shm::Segment> wide_segment{};
  std::shared_ptr<shm::Domain> wide{};  // a second way, to ranks of all hosts
  std::unique_ptr<runtime::Control> control{};
  std::vector<runtime::Descriptor> voice{};  // the sockets of its control, for kill
};

class HybridLinks final : public Links {
 public:
  HybridLinks(const LinksOptions& options, std::vector<int> hosts, int transports)
      : hosts_{std::move(hosts)}, processes_(static_cast<std::size_t>(options.size)) {
    for (Process& process : processes_) process.segment = shm::make_segment(kSegmentBytes);
    connect_locally();
    connect_remotely();
    if (transports > 1) connect_widely();
    connect_control();
  }

  std::unique_ptr<Transport> transport(Rank world, const Membership& membership) override {
    const std::uint64_t communicator = membership.communicator;
    const std::vector<Rank>& members = membership.members;
    Process& process = at(world);
    const auto failure_signal = process.control->watch(communicator, members);
    std::vector<bool> is_local;
    for (const Rank member : members) is_local.push_back(share_host(world, member));
    std::vector<std::unique_ptr<Transport>> remote;
    remote.push_back(process.fabric->transport(communicator, members, failure_signal));
    if (process.wide)
      remote.push_back(process.wide->transport(communicator, members, failure_signal));
    return hybrid::make_transport(
        {.local = process.domain->transport(communicator, members, failure_signal),
         .remote = std::move(remote),
         .is_local = std::move(is_local),
         .failure_signal = failure_signal});
  }

  // The others get the end of its sockets; it may receive their answers.
  void kill(Rank world) override {
    Process& process = at(world);
    for (const runtime::Descriptor& voice : process.voice) ::shutdown(voice.get(), SHUT_WR);
    process.fabric.reset();
    process.domain.reset();
    process.wide.reset();
  }

 private:
  [[nodiscard]] Process& at(Rank rank) { return processes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool share_host(Rank one, Rank other) const {
    return hosts_[static_cast<std::size_t>(one)] == hosts_[static_cast<std::size_t>(other)];
  }
  [[nodiscard]] int size() const { return static_cast<int>(processes_.size()); }

  void connect_locally() {
    for (Rank rank = 0; rank < size(); ++rank) {
      std::vector<shm::Neighbour> neighbours;
      for (Rank other = 0; other < size(); ++other)
        if (other != rank && share_host(rank, other))
          neighbours.push_back({other, at(other).segment->descriptor()});
      at(rank).domain = std::make_shared<shm::Domain>(rank, at(rank).segment, neighbours);
    }
  }
  void connect_widely() {
    for (Process& process : processes_) process.wide_segment = shm::make_segment(kSegmentBytes);
    for (Rank rank = 0; rank < size(); ++rank) {
      std::vector<shm::Neighbour> neighbours;
      for (Rank other = 0; other < size(); ++other)
        if (other != rank) neighbours.push_back({other, at(other).wide_segment->descriptor()});
      at(rank).wide = std::make_shared<shm::Domain>(rank, at(rank).wide_segment, neighbours);
    }
  }
  void connect_remotely() {
    std::vector<std::vector<tcp::Peer>> peers(processes_.size());
    for (Rank low = 0; low < size(); ++low)
      for (Rank high = low + 1; high < size(); ++high) {
        if (share_host(low, high)) continue;
        const auto [one, other] = connected_pair();
        peers[static_cast<std::size_t>(low)].push_back({high, one});
        peers[static_cast<std::size_t>(high)].push_back({low, other});
      }
    for (Rank rank = 0; rank < size(); ++rank)
      at(rank).fabric = std::make_shared<tcp::Fabric>(rank, peers[static_cast<std::size_t>(rank)],
                                                      tcp::Options{});
  }
  void connect_control() {
    std::vector<std::vector<runtime::WatchedProcess>> watched(processes_.size());
    for (Rank low = 0; low < size(); ++low)
      for (Rank high = low + 1; high < size(); ++high) {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
          throw std::runtime_error{"cannot make a pair of sockets"};
        const auto add = [&](Rank rank, Rank peer, int end) {
          at(rank).voice.emplace_back(dup(end));
          watched[static_cast<std::size_t>(rank)].push_back({.rank = peer,
                                                             .host = "pretended",
                                                             .is_local = share_host(rank, peer),
                                                             .socket = runtime::Descriptor{end}});
        };
        add(low, high, ends[0]);
        add(high, low, ends[1]);
      }
    for (Rank rank = 0; rank < size(); ++rank)
      at(rank).control = std::make_unique<runtime::Control>(
          rank, std::move(watched[static_cast<std::size_t>(rank)]), runtime::HeartbeatSettings{});
  }

  std::vector<int> hosts_;  // of each rank
  std::vector<Process> processes_;
};

/// @param variant see Backend. @param sizes see Backend. @param host_of (rank, size) -> host.
/// @param ways between hosts.
Backend backend(std::string variant, std::vector<int> sizes, int (*host_of)(Rank, int),
                int transports = 1) {
  return {.name = transports == 1 ? "shm+tcp" : "shm+tcp|shm",
          .variant = std::move(variant),
          .helps_others = false,
          .heeds_alarm = false,
          .sizes = std::move(sizes),
          .connect = [host_of, transports](const LinksOptions& options) {
            std::vector<int> hosts;
            for (Rank rank = 0; rank < options.size; ++rank)
              hosts.push_back(host_of(rank, options.size));
            return std::make_unique<HybridLinks>(options, std::move(hosts), transports);
          }};
}

}  // namespace

std::vector<Backend> hybrid_backends() {
  return {backend("_alternating", {1, 2, 3, 4, 7}, [](Rank rank, int) { return rank % 2; }),
          backend("_blocked", {4, 8}, [](Rank rank, int size) { return 2 * rank / size; }),
          backend("_one_host", {3}, [](Rank, int) { return 0; }),
          backend("_spread", {3}, [](Rank rank, int) { return rank; }),
          backend(
              "_two_ways", {4}, [](Rank rank, int) { return rank % 2; }, 2)};
}

}  // namespace tutti::conformance
