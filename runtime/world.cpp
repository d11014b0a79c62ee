#include "world.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "address_space.hpp"
#include "backends/hybrid/hybrid.hpp"
#include "collectives/hash.hpp"
#include "network_speed.hpp"

namespace tutti::runtime {
namespace {

using detail::combine;

/// With less time left until a world must stand its network is not measured: that may take half of
/// it.
constexpr std::chrono::seconds kTimeToMeasure{4};

/// Every member comes to the same id by itself: nothing need be agreed on.
std::uint64_t id_of(std::uint64_t parent, std::span<const Rank> members, std::uint64_t times) {
  std::uint64_t id = combine(parent, times);
  for (const Rank member : members) id = combine(id, static_cast<std::uint64_t>(member));
  return std::max<std::uint64_t>(combine(id, members.size()), 1);
}

/// Ranks of a world, and how often each subgroup of them was made.
class WorldGroup final : public Group {
 public:
  WorldGroup(std::shared_ptr<World> world, std::uint64_t id, std::vector<Rank> members)
      : world_{std::move(world)}, id_{id}, members_{std::move(members)} {}

  [[nodiscard]] Footing subgroup(std::span<const Rank> members) override {
    const std::vector<Rank> ranks = in_world(members);
    const std::lock_guard lock{mutex_};
    std::uint64_t& made = made_[ranks];
    try {
      Footing footing = world_->found(id_of(id_, ranks, made + 1), ranks);
      ++made;  // only now, so that this rank counts like the others when it tries again
      return footing;
    } catch (const std::bad_alloc&) {
      throw Error{ErrorCode::transport, "there is no memory for another communicator"};
    }
  }
  [[nodiscard]] std::vector<Whereabouts> inquire(std::span<const Rank> peers,
                                                 Duration patience) override {
    return world_->inquire(id_, in_world(peers), patience);
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override {
    return world_->visible_memory();
  }
  [[nodiscard]] std::string describe() const override { return world_->describe(members_); }

 private:
  [[nodiscard]] std::vector<Rank> in_world(std::span<const Rank> ranks) const {
    std::vector<Rank> found;
    for (const Rank rank : ranks) found.push_back(members_.at(static_cast<std::size_t>(rank)));
    return found;
  }

  const std::shared_ptr<World> world_;
  const std::uint64_t id_;
  const std::vector<Rank> members_;  // in the world
  std::mutex mutex_{};
  std::map<std::vector<Rank>, std::uint64_t> made_{};
};

std::string name_of(Rank rank, const std::string& host) {
  return "rank " + std::to_string(rank) + " (host " + host + ")";
}

}  // namespace

Ways ways_of(std::string_view name) {
  if (name == "auto") return Ways::any;
  if (name == "shm") return Ways::shm;
  if (name == "tcp") return Ways::tcp;
  throw Error{ErrorCode::invalid_argument, "there is no transport '" + std::string{name} +
                                               "'; choose auto, shm or tcp (mpi is that of "
                                               "tutti::mpi::communicator, shm+mpi one of "
                                               "tutti::mpi::init)"};
}

std::shared_ptr<World> World::connect(Channel& channel, const WorldOptions& options,
                                      Deadline deadline) {
  const std::shared_ptr<World> world{new World};
  world->self_ = channel.rank();
  world->origin_ = channel.describe();
  MeshOptions mesh = options.mesh;
  world->network_ = options.network;
  mesh.carries_data = world->network_ == nullptr;
  mesh.memory = -1;
  if (options.ways != Ways::tcp) {
    world->segment_ = shm::make_segment(mappable_bytes(options.segment_bytes, channel.size()));
    mesh.memory = world->segment_->descriptor();
  }
  Mesh connected = connect_mesh(channel, mesh, deadline);
  const Rank far = connected.far;
  world->adopt(std::move(connected), options);
  world->remote_tariff_ = world->find_remote_tariff(far, options.network_megabits, deadline);
  return world;
}

Tariff World::find_remote_tariff(Rank far, int megabits, Deadline deadline) {
  if (network_) return network_->tariff();
  if (far >= 0 && megabits > 0) return network_tariff(megabits);
  return far < 0 ? loopback_tariff() : find_network_tariff(far, deadline);
}

/// Collective. Rank 0 measures with the first rank of another host, and tells everyone, lest ranks
/// choose differently. That nothing could be measured is no reason not to start.
Tariff World::find_network_tariff(Rank far, Deadline deadline) {
  const auto left = [deadline] {
    const Duration time = deadline - std::chrono::steady_clock::now();
    return std::max<Duration>(time, std::chrono::milliseconds{1});
  };
  // Numbered, since the two may have the same members.
  const auto among = [&](const std::vector<Rank>& members, std::uint64_t number) {
    return Communicator::create(found(id_of(id_, members, number), members), make_host_memory(),
                                {.timeout = left()});
  };
  auto speed = NetworkSpeed::unknown;
  if ((self_ == 0 || self_ == far) && left() >= kTimeToMeasure) {
    try {
      Communicator pair = among({0, far}, 1);
      speed = measure_network(pair);
    } catch (const Error&) {
      speed = NetworkSpeed::unknown;
    }
  }
  Communicator all = among(everyone(), 2);
  all.broadcast(std::span{&speed, 1}, 0);
  return network_tariff(speed);
}

void World::adopt(Mesh mesh, const WorldOptions& options) {
  id_ = mesh.world;
  shared_cores_ = mesh.shared_cores;
  hosts_ = std::move(mesh.hosts);
  households_ = std::move(mesh.households);
  host_of_ = households_;
  if (!segment_) {  // nobody shares memory, so the names say it
    std::map<std::string, int> numbers;
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank)
      host_of_[rank] = numbers.emplace(hosts_[rank], static_cast<int>(rank)).first->second;
  }
  is_encrypted_ = std::ranges::any_of(
      mesh.links, [](const Link& link) { return link.control_cipher != nullptr; });
  is_local_.assign(hosts_.size(), segment_ != nullptr);
  std::vector<Watched> watched;
  std::vector<shm::Neighbour> neighbours;
  std::vector<tcp::Peer> peers;
  for (Link& link : mesh.links) {
    const std::string name = name_of(link.peer, hosts_[static_cast<std::size_t>(link.peer)]);
    is_local_[static_cast<std::size_t>(link.peer)] = link.local;
    if (!link.local && options.ways == Ways::shm)
      throw Error{ErrorCode::invalid_argument,
                  name + " shares no memory with " +
                      name_of(self_, hosts_[static_cast<std::size_t>(self_)]) +
                      "; choose transport auto or tcp",
                  link.peer};
    if (link.local)
      neighbours.push_back(
          {link.peer, link.memory.get(), peer_process(link.control.get()).value_or(-1)});
    else if (!network_)
      peers.push_back({link.peer, link.data.release(), std::move(link.data_cipher)});
    watched.push_back({link.peer, hosts_[static_cast<std::size_t>(link.peer)], link.local,
                       std::move(link.control), std::move(link.control_cipher)});
  }
  if (!watched.empty())
    control_ = std::make_unique<Control>(self_, std::move(watched), options.vigilance);
  if (segment_) {
    domain_ = std::make_shared<shm::Domain>(self_, segment_, neighbours,
                                            shm::Options{mesh.shared_cores > 0});
    visible_ = shm::make_visible_memory(segment_);
  }
  if (peers.empty() && segment_) return;
  tcp::Options tcp;
  tcp.payload_checksum = has_checksums_ = options.payload_checksum;
  tcp.linger = options.vigilance.lost;
  tcp.oversubscribed = mesh.shared_cores > 0;
  if (mesh.shared_cores > 0) tcp.idle_spins = 1;
  fabric_ = std::make_shared<tcp::Fabric>(self_, peers, tcp);
}

Footing World::footing() {
  const std::vector<Rank> members = everyone();
  return found(id_of(id_, members, 0), members);
}

std::vector<Rank> World::everyone() const {
  std::vector<Rank> ranks(hosts_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<Whereabouts> World::inquire(std::uint64_t communicator, std::span<const Rank> ranks,
                                        Duration patience) {
  if (!control_) return std::vector<Whereabouts>(ranks.size());
  return control_->inquire(communicator, ranks, patience);
}

Footing World::found(std::uint64_t communicator, const std::vector<Rank>& members) {
  auto calls = std::make_shared<CallCounter>();
  // Alone there is nobody to watch, but what a forked child sent to itself would reach its parent.
  const std::shared_ptr<Alarm> alarm =
      control_ ? control_->watch(communicator, members, calls)
               : std::make_shared<Alarm>(Alarm::Tell{}, std::make_shared<ForkGuard>());
  return {.transport = connect(communicator, members, alarm),
          .group = std::make_shared<WorldGroup>(shared_from_this(), communicator, members),
          .calls = std::move(calls),
          .alarm = alarm,
          .tariff = tariff_of(members),
          .hosts = hosts_of(members)};
}

std::vector<int> World::hosts_of(const std::vector<Rank>& members) const {
  std::vector<int> hosts;
  for (const Rank member : members) hosts.push_back(host_of_[static_cast<std::size_t>(member)]);
  return hosts;
}

// Ranks of several hosts wait for the network, whatever else they do.
Tariff World::tariff_of(const std::vector<Rank>& members) const {
  const auto household = [this](Rank rank) { return households_[static_cast<std::size_t>(rank)]; };
  const bool share_memory = std::ranges::all_of(
      members, [&](Rank member) { return household(member) == household(members.front()); });
  if (!share_memory) return remote_tariff_;
  return memory_tariff(shared_cores_, shm::longest_buffered(members.size()));
}

std::unique_ptr<Transport> World::connect(std::uint64_t communicator,
                                          const std::vector<Rank>& members,
                                          const std::shared_ptr<Alarm>& alarm) {
  std::vector<bool> is_local;
  for (const Rank member : members) is_local.push_back(is_local_[static_cast<std::size_t>(member)]);
  if (std::ranges::count(is_local, false) == 0)
    return domain_->transport(communicator, members, alarm);
  if (!domain_) return fabric_->transport(communicator, members, alarm);
  return hybrid::make_transport({.local = domain_->transport(communicator, members, alarm),
                                 .remote = connect_remotely(communicator, members, alarm),
                                 .is_local = std::move(is_local),
                                 .alarm = alarm});
}

std::unique_ptr<Transport> World::connect_remotely(std::uint64_t communicator,
                                                   const std::vector<Rank>& members,
                                                   const std::shared_ptr<Alarm>& alarm) {
  return network_ ? network_->transport(members, alarm)
                  : fabric_->transport(communicator, members, alarm);
}

int World::count_hosts(const std::vector<Rank>& members) const {
  std::set<std::string> hosts;
  for (const Rank member : members) hosts.insert(hosts_[static_cast<std::size_t>(member)]);
  return static_cast<int>(hosts.size());
}

std::string World::describe(const std::vector<Rank>& members) const {
  const auto count = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  if (hosts_.size() == 1) return "1 rank, alone";
  std::string ways = domain_ ? "shared memory" : "TCP";
  if (domain_ && fabric_) ways += " and TCP";
  if (fabric_ && has_checksums_) ways += " with payload checksums";
  if (network_) ways += " and " + network_->name();
  if (fabric_ && is_encrypted_) ways += " with TLS";
  return count(members.size(), "rank") + " on " +
         count(static_cast<std::size_t>(count_hosts(members)), "host") + " by " + origin_ +
         ", over " + ways;
}

}  // namespace tutti::runtime
