// How the ranks of a world are connected, or found to be connected already.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "fields.hpp"
#include "measure_network.hpp"
#include "selector/cost_models.hpp"
#include "startup_step.hpp"
#include "world.hpp"

namespace tutti::runtime {
namespace {

using detail::combine;

/// With less time left until a world must stand its network is not measured: that may take half of
/// it.
constexpr std::chrono::seconds kTimeToMeasure{4};

std::string name_of(Rank rank, const std::string& host) {
  return "rank " + std::to_string(rank) + " (host " + host + ")";
}

LinkSettings settings_of(const WorldOptions& options) {
  const bool shares_memory =
      options.transports == TransportSet::any || options.transports == TransportSet::shm;
  LinkSettings settings{.shares_memory = shares_memory,
                        .carries_data = (options.network == nullptr || options.has_tcp_too) &&
                                        options.transports != TransportSet::none,
                        .only_local = options.transports == TransportSet::none,
                        .tls = options.mesh.tls,
                        .payload_checksum = options.payload_checksum,
                        .heartbeat = options.heartbeat,
                        .interface = options.mesh.interface,
                        .secret = {},
                        .host = options.mesh.host,
                        .segment_bytes = options.segment_bytes};
  if (options.mesh.secret) settings.secret = message_code(options.mesh.secret->bytes(), {});
  return settings;
}

/// What must be equal on all ranks, as a number.
std::uint64_t summary_of(const WorldOptions& options) {
  std::uint64_t summary = combine(0, static_cast<std::uint64_t>(options.transports));
  summary = combine(summary, options.mesh.tls ? 1 : 0);
  for (const auto& [name, value] : options.mesh.agreed)
    summary = combine(combine(summary, std::string_view{name}), std::string_view{value});
  return summary;
}

/// A message takes half of what two of them take.
void charge_as_measured(LinkCosts& costs, const Probes& probes) {
  constexpr Femtoseconds kPerNanosecond = 1'000'000;
  const Duration bytes = std::max(probes.longer - probes.shorter, Duration{1});
  costs.alpha = probes.message.count() * kPerNanosecond / 2;
  costs.beta = bytes.count() * kPerNanosecond /
               static_cast<Femtoseconds>(kLongProbeBytes - kShortProbeBytes);
}

NetworkSpeed speed_in(std::string_view& report) {
  const auto said = take<std::uint8_t>(report);
  constexpr auto kLast = static_cast<std::uint8_t>(NetworkSpeed::gigabits_10);
  return said > kLast ? NetworkSpeed::unknown : static_cast<NetworkSpeed>(said);
}

}  // namespace

TransportSet transports_of(std::string_view name) {
  if (name == "auto") return TransportSet::any;
  if (name == "shm") return TransportSet::shm;
  if (name == "tcp") return TransportSet::tcp;
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
  world->network_ = options.network;
  world->has_tcp_too_ = options.has_tcp_too;
  world->has_checksums_ = options.payload_checksum;
  const LinkSettings settings = settings_of(options);
  if (!world->share(channel, settings, options, deadline))
    world->connect_anew(channel, settings, options, deadline);
  if (options.transports == TransportSet::shm)
    all_or_none(channel, options.mesh.host, deadline, [&] {
      world->require_memory();
      return std::string{};
    });
  channel.keep(world->links_);
  world->understand_background();
  if (options.transports == TransportSet::none) return world;
  const std::vector<PeerInfo> infos = world->infos();
  world->shared_cores_ = shared_cores(infos, world->self_);
  world->fewest_cores_ = fewest_shared_cores(infos);
  const Rank far = first_far_from_rank_0(infos);
  world->remote_tariffs_.resize(options.has_tcp_too ? 2 : 1);
  if (options.has_tcp_too)
    world->remote_tariffs_ = world->find_tariffs_of_ways(far, options.network_megabits, deadline);
  else
    world->remote_tariffs_ = {world->find_remote_tariff(far, options.network_megabits, deadline)};
  world->time_calls_once(infos, deadline);
  return world;
}

/// Collective. @return whether the ranks' processes are connected already, all of them by links
/// that both ends know.
bool World::share(Channel& channel, const LinkSettings& settings, const WorldOptions& options,
                  Deadline deadline) {
  const auto hellos = all_or_none(channel, options.mesh.host, deadline, [&] {
    links_ = Links::of_process(settings, channel.size());
    std::string hello;
    put(hello, links_->process());
    put(hello, links_->next_world());
    put(hello, summary_of(options));
    if (self_ == 0) {
      SharedConfigFiles files = options.shared_config;
      files.timed.is_wanted = files.timed.is_wanted && channel.size() > 1;
      hello += pack_shared_config(files);
    }
    return hello;
  });
  bool is_known = true;
  std::uint64_t summary = 0;
  for (std::string_view hello : hellos) {
    processes_.push_back(take<std::uint64_t>(hello));
    const auto id = take<std::uint64_t>(hello);
    const auto theirs = take<std::uint64_t>(hello);
    if (processes_.size() == 1) {
      id_ = id;
      summary = theirs;
      said_ = hello;
    }
    is_known = is_known && theirs == summary;
  }
  // Ranks of one process are threads, which cannot share links.
  if (std::set<std::uint64_t>(processes_.begin(), processes_.end()).size() < processes_.size())
    processes_.clear();
  Links::Known known;
  const auto reports = all_or_none(channel, options.mesh.host, deadline, [&] {
    if (!processes_.empty()) known = links_->find(processes_, self_);
    numbers_ = known.numbers;
    std::string report;
    put(report, static_cast<std::uint8_t>(numbers_.empty() ? 0 : 1));
    put(report, known.balance);
    put(report, numbers_.empty() ? MemoryDomain{} : memory_domain());
    put(report, known_speed());
    return report;
  });
  std::uint64_t balance = 0;
  std::vector<MemoryDomain> memory_domains;
  known_speed_ = NetworkSpeed::unknown;
  for (std::string_view report : reports) {
    is_known = take<std::uint8_t>(report) != 0 && is_known;
    balance += take<std::uint64_t>(report);
    memory_domains.push_back(take<MemoryDomain>(report));
    if (memory_domains.size() == 1) known_speed_ = speed_in(report);
  }
  if (!is_known || balance != 0) return false;
  complete_links(memory_domains_of(memory_domains));
  return true;
}

/// Collective. Connects every two ranks, also those whose processes have a link already.
void World::connect_anew(Channel& channel, const LinkSettings& settings,
                         const WorldOptions& options, Deadline deadline) {
  if (processes_.empty()) {
    all_or_none(channel, options.mesh.host, deadline, [&] {
      links_ = std::make_shared<Links>(settings, channel.size());
      return std::string{};
    });
    for (Rank rank = 0; rank < channel.size(); ++rank)
      processes_.push_back(combine(id_, static_cast<std::uint64_t>(rank)));
  }
  MeshOptions mesh = options.mesh;
  mesh.carries_data = settings.carries_data;
  mesh.only_local = settings.only_local;
  mesh.cores = links_->cores();
  mesh.locality = links_->locality();
  mesh.memory = links_->segment() ? links_->segment()->descriptor() : -1;
  Mesh connected = connect_mesh(channel, mesh, deadline);
  all_or_none(channel, options.mesh.host, deadline, [&] {
    id_ = connected.world;
    numbers_ = links_->add(connected, processes_, self_);
    complete_links(std::move(connected.memory_domains));
    return std::string{};
  });
}

/// The ranks that share memory with this one, as far as it is known.
MemoryDomain World::memory_domain() const {
  std::vector<Rank> ranks;
  for (const Rank rank : everyone())
    if (peer(rank).is_local) ranks.push_back(rank);
  return memory_domain_of(ranks);
}

std::vector<PeerInfo> World::infos() const {
  std::vector<PeerInfo> infos;
  for (const Rank rank : everyone()) infos.push_back(peer(rank).info);
  return infos;
}

std::pair<std::string, std::string> World::ends_of_network(Rank far) const {
  // What else carries messages there may be faster than TCP.
  return {peer(0).info.host.name,
          peer(far).info.host.name + (network_ ? " by " + network_->name() : std::string{})};
}

NetworkSpeed World::known_speed() const {
  const Rank far = numbers_.empty() ? -1 : first_far_from_rank_0(infos());
  return far < 0 ? NetworkSpeed::unknown : links_->speed(ends_of_network(far));
}

void World::complete_links(std::vector<Rank> memory_domains) {
  memory_domains_ = std::move(memory_domains);
  host_of_ = memory_domains_;
  const bool shares_memory = links_->segment() != nullptr;
  std::map<std::string, int> hosts;
  for (const Rank rank : everyone()) {
    const Links::Peer& at = peer(rank);
    // Where nobody shares memory the names say it.
    if (!shares_memory)
      host_of_[static_cast<std::size_t>(rank)] =
          hosts.emplace(at.info.host.name, rank).first->second;
    uses_tcp_ = uses_tcp_ || (!at.is_local && (network_ == nullptr || has_tcp_too_));
    is_encrypted_ = is_encrypted_ || at.is_encrypted;
  }
  uses_tcp_ = uses_tcp_ || !shares_memory;
}

/// All ranks find the same, and refuse the same.
void World::understand_background() {
  std::vector<std::pair<int, std::string>> hosts;
  for (const Rank rank : everyone())
    if (const int host = host_of_[static_cast<std::size_t>(rank)]; host == rank)
      hosts.emplace_back(host, peer(rank).info.host.name);
  ReceivedConfig received = unpack_shared_config(std::exchange(said_, {}), hosts);
  shared_config_ = std::move(received.shared_config);
  may_time_calls_ = received.may_time_calls;
  timed_calls_path_ = std::move(received.timed_path);
}

void World::require_memory() const {
  for (const Rank rank : everyone())
    if (!peer(rank).is_local)
      throw Error{ErrorCode::invalid_argument,
                  name_of(rank, peer(rank).info.host.name) + " shares no memory with " +
                      name_of(self_, peer(self_).info.host.name) + "; choose transport auto or tcp",
                  rank};
}

/// @param tariff of TCP. @return that of the network, whose bytes take as long.
CostModel World::by_network(CostModel cost_model) const {
  cost_model.costs.alpha = network_->cost_model().costs.alpha;
  if (cost_model.lasting) cost_model.lasting->alpha = cost_model.costs.alpha;
  cost_model.origin += ", over " + network_->name();
  return cost_model;
}

CostModel World::find_remote_tariff(Rank far, int megabits, Deadline deadline) {
  if (far < 0) return network_ ? network_->cost_model() : detail::loopback_tariff(shared_cores_);
  NetworkSpeed speed = known_speed_;
  if (megabits == 0 && speed == NetworkSpeed::unknown)
    find_out(far, deadline, speed, [&](Communicator& pair) {
      const Probes probes = measure_network(pair);
      speed = speed_between(probes.shorter, probes.longer);
    });
  if (megabits == 0) links_->note_speed(ends_of_network(far), speed);
  CostModel cost_model =
      megabits > 0 ? detail::network_tariff(megabits) : detail::network_tariff(speed);
  cost_model.costs.shared_cores = fewest_cores_;
  return network_ ? by_network(std::move(cost_model)) : cost_model;
}

/// Which way is the faster one the classes of speeds do not say, so messages and bytes are charged
/// as they were measured.
std::vector<CostModel> World::find_tariffs_of_ways(Rank far, int megabits, Deadline deadline) {
  if (far < 0) return {detail::loopback_tariff(shared_cores_), network_->cost_model()};
  std::array<Probes, 2> transports{};
  if (megabits == 0)
    find_out(far, deadline, transports, [&](Communicator& pair) {
      const std::vector<std::string> names = transport_of(pair).capabilities().transports;
      for (std::size_t way = 0; way < transports.size(); ++way)
        transports[way] = measure_network(pair, names[way]);
    });
  std::vector<CostModel> cost_models;
  for (const Probes& probes : transports) {
    CostModel cost_model = megabits > 0 ? detail::network_tariff(megabits)
                                        : detail::network_tariff(NetworkSpeed::unknown);
    if (!cost_models.empty()) cost_model = by_network(std::move(cost_model));
    if (probes.message > Duration::zero()) {
      charge_as_measured(cost_model.costs, probes);
      cost_model.origin = "measured: between hosts";
      if (!cost_models.empty()) cost_model.origin += ", over " + network_->name();
    }
    cost_model.costs.shared_cores = fewest_cores_;
    cost_models.push_back(std::move(cost_model));
  }
  return cost_models;
}

/// Collective. Rank 0 measures with the first rank of another host, and tells everyone, lest ranks
/// choose differently. That nothing could be measured is no reason not to start.
/// @param found_out what it has found out; as it was where nothing could be. @param measure sets
/// it, on rank 0; the other rank of the pair calls it too.
template <class Found>
void World::find_out(Rank far, Deadline deadline, Found& found_out,
                     const std::function<void(Communicator& pair)>& measure) {
  static_assert(std::is_trivially_copyable_v<Found>);
  const auto left = [deadline] {
    const Duration time = deadline - std::chrono::steady_clock::now();
    return std::max<Duration>(time, std::chrono::milliseconds{1});
  };
  // Numbered, since the two may have the same members.
  const auto among = [&](const std::vector<Rank>& members, std::uint64_t number) {
    return make_communicator(make_parts(id_of(id_, members, number), members), make_host_memory(),
                             {.timeout = left()});
  };
  const Found unknown = found_out;
  if ((self_ == 0 || self_ == far) && left() >= kTimeToMeasure) {
    try {
      Communicator pair = among({0, far}, 1);
      measure(pair);
    } catch (const std::exception&) {  // the others wait for what follows
      found_out = unknown;
    }
  }
  Communicator all = among(everyone(), 2);
  all.broadcast(std::as_writable_bytes(std::span{&found_out, 1}), 0);
}

}  // namespace tutti::runtime
