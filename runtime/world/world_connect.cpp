// World::connect: connects the processes of a world, or uses the links of an earlier one.
#include <set>
#include <utility>

#include "runtime/links/memory_domain.hpp"
#include "runtime/meeting/startup_step.hpp"
#include "runtime/sockets/fields.hpp"

#include "world.hpp"
#include "world_costs.hpp"

namespace tutti::runtime {
namespace {

using detail::combine;

std::string name_of(Rank rank, const std::string& host) {
  return "rank " + std::to_string(rank) + " (host " + host + ")";
}

LinkSettings settings_of(const WorldOptions& options) {
  const bool shares_memory =
      options.transports == TransportSet::any || options.transports == TransportSet::shm;
  LinkSettings settings{.options = options.links,
                        .shares_memory = shares_memory,
                        .carries_data = (options.network == nullptr || options.has_tcp_too) &&
                                        options.transports != TransportSet::none,
                        .only_local = options.transports == TransportSet::none,
                        .interface = options.mesh.interface,
                        .secret = {},
                        .host = options.mesh.host};
  if (options.mesh.secret) settings.secret = message_code(options.mesh.secret->bytes(), {});
  return settings;
}

/// A hash of the options that must be equal on all ranks.
std::uint64_t summary_of(const WorldOptions& options) {
  std::uint64_t summary = combine(0, static_cast<std::uint64_t>(options.transports));
  summary = combine(summary, options.links.tls ? 1 : 0);
  for (const auto& [name, value] : options.mesh.agreed)
    summary = combine(combine(summary, std::string_view{name}), std::string_view{value});
  return summary;
}

NetworkSpeed speed_in(std::string_view& report) {
  const auto number = read_field<std::uint8_t>(report);
  constexpr auto kLast = static_cast<std::uint8_t>(NetworkSpeed::gigabits_10);
  return number > kLast ? NetworkSpeed::unknown : static_cast<NetworkSpeed>(number);
}

/// Connects the ranks of a world.
class WorldConnector {
 public:
  WorldConnector(Channel& channel, const WorldOptions& options, Deadline deadline)
      : channel_{channel}, options_{options}, deadline_{deadline}, settings_{settings_of(options)} {
  }

  /// Collective. Throws as connect_mesh.
  [[nodiscard]] World::Connections connect();
  /// @return rank 0's configuration. Throws Error{invalid_argument} on all ranks.
  [[nodiscard]] std::shared_ptr<const detail::SharedConfig> shared_config(
      const RankTable& ranks) const;
  /// @return rank 0's knowledge of the network between hosts.
  [[nodiscard]] KnownNetwork known_network() const {
    return {.megabits = options_.network_megabits, .speed = known_speed_};
  }

 private:
  /// The facts that ranks exchange before they know each other's links.
  struct ProcessInfo {
    std::uint64_t process = 0;
    std::uint64_t next_world = 0;
    std::uint64_t summary = 0;
  };
  [[nodiscard]] std::vector<std::string> on_all(const std::function<std::string()>& part) {
    return all_or_none(channel_, options_.mesh.host, deadline_, part);
  }
  void check_options() const;
  [[nodiscard]] std::string own_process_info();
  [[nodiscard]] bool exchange_process_infos();
  [[nodiscard]] bool find_links();
  void connect_anew();
  [[nodiscard]] MemoryDomain memory_domain(const std::vector<Rank>& numbers) const;
  [[nodiscard]] NetworkSpeed own_known_speed(const std::vector<Rank>& numbers) const;
  void require_memory(const RankTable& ranks) const;

  Channel& channel_;
  const WorldOptions& options_;
  const Deadline deadline_;
  const LinkSettings settings_;
  std::shared_ptr<ProcessLinks> links_{};
  std::vector<std::uint64_t> processes_{};  // ids by rank; empty: ranks are threads
  std::uint64_t id_ = 0;
  std::vector<Rank> numbers_{};         // of the processes in the links, by rank
  std::vector<Rank> memory_domains_{};  // as Mesh::memory_domains
  std::string shared_config_{};         // of rank 0, packed
  NetworkSpeed known_speed_ = NetworkSpeed::unknown;
};

World::Connections WorldConnector::connect() {
  const bool have_equal_settings = exchange_process_infos();
  if (!find_links() || !have_equal_settings) connect_anew();
  World::Connections connections{.rank = channel_.rank(),
                                 .id = id_,
                                 .origin = channel_.describe(),
                                 .links = links_,
                                 .ranks = {links_, numbers_, std::move(memory_domains_)},
                                 .network = options_.network,
                                 .has_tcp_too = options_.has_tcp_too};
  if (options_.transports == TransportSet::shm)
    static_cast<void>(on_all([&] {
      require_memory(connections.ranks);
      return std::string{};
    }));
  channel_.keep(links_);
  return connections;
}

void WorldConnector::check_options() const {
  if (!options_.failure) return;
  const Error& failure = *options_.failure;
  if (channel_.size() == 1) throw Error{failure};
  throw Error{failure.code(), "rank " + std::to_string(channel_.rank()) + ": " + failure.what(),
              channel_.rank()};
}

std::string WorldConnector::own_process_info() {
  check_options();
  links_ = ProcessLinks::shared(settings_, channel_.size());
  std::string info;
  write_field(info, ProcessInfo{links_->process(), links_->next_world(), summary_of(options_)});
  if (channel_.rank() == 0) info += pack_shared_config(options_.shared_config);
  return info;
}

/// Collective. Rank 0 sends the id of the world and its configuration. @return whether the settings
/// of all ranks are equal.
bool WorldConnector::exchange_process_infos() {
  const std::vector<std::string> infos = on_all([this] { return own_process_info(); });
  bool are_equal = true;
  std::uint64_t summary = 0;
  for (std::string_view bytes : infos) {
    const auto info = read_field<ProcessInfo>(bytes);
    processes_.push_back(info.process);
    if (processes_.size() == 1) {
      id_ = info.next_world;
      summary = info.summary;
      shared_config_ = bytes;
    }
    are_equal = are_equal && info.summary == summary;
  }
  // Threads of one process cannot share links.
  if (std::set<std::uint64_t>(processes_.begin(), processes_.end()).size() < processes_.size())
    processes_.clear();
  return are_equal;
}

/// Collective. @return whether all processes are connected by links that both ends have.
bool WorldConnector::find_links() {
  const std::vector<std::string> reports = on_all([this] {
    ProcessLinks::WorldLinks known;
    if (!processes_.empty()) known = links_->find(processes_, channel_.rank());
    numbers_ = known.numbers;
    std::string report;
    write_field(report, static_cast<std::uint8_t>(numbers_.empty() ? 0 : 1));
    write_field(report, known.balance);
    write_field(report, memory_domain(numbers_));
    write_field(report, own_known_speed(numbers_));
    return report;
  });
  bool are_linked = true;
  std::uint64_t balance = 0;
  std::vector<MemoryDomain> memory_domains;
  for (std::string_view report : reports) {
    are_linked = read_field<std::uint8_t>(report) != 0 && are_linked;
    balance += read_field<std::uint64_t>(report);
    memory_domains.push_back(read_field<MemoryDomain>(report));
    if (memory_domains.size() == 1) known_speed_ = speed_in(report);
  }
  if (!are_linked || balance != 0) return false;
  memory_domains_ = memory_domains_of(memory_domains);
  return true;
}

/// Collective. Connects every two ranks, even if their processes have a link.
void WorldConnector::connect_anew() {
  if (processes_.empty()) {
    static_cast<void>(on_all([this] {
      links_ = ProcessLinks::unshared(settings_, channel_.size());
      return std::string{};
    }));
    for (Rank rank = 0; rank < channel_.size(); ++rank)
      processes_.push_back(combine(id_, static_cast<std::uint64_t>(rank)));
  }
  MeshOptions mesh = options_.mesh;
  mesh.tls = options_.links.tls;
  mesh.carries_data = settings_.carries_data;
  mesh.only_local = settings_.only_local;
  mesh.cores = links_->cores();
  mesh.locality = links_->locality();
  mesh.memory = links_->segment() ? links_->segment()->descriptor() : -1;
  Mesh connected = connect_mesh(channel_, mesh, deadline_);
  static_cast<void>(on_all([&] {
    id_ = connected.world;
    numbers_ = links_->add(connected, processes_, channel_.rank());
    memory_domains_ = std::move(connected.memory_domains);
    return std::string{};
  }));
}

/// @return the ranks that share memory with this one, as far as they are linked.
MemoryDomain WorldConnector::memory_domain(const std::vector<Rank>& numbers) const {
  if (numbers.empty()) return {};
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < channel_.size(); ++rank)
    if (links_->peer(numbers[static_cast<std::size_t>(rank)]).is_local) ranks.push_back(rank);
  return memory_domain_of(ranks);
}

NetworkSpeed WorldConnector::own_known_speed(const std::vector<Rank>& numbers) const {
  std::vector<PeerInfo> infos;
  for (const Rank number : numbers) infos.push_back(links_->peer(number).info);
  return infos.empty() ? NetworkSpeed::unknown : known_speed(*links_, infos, options_.network);
}

void WorldConnector::require_memory(const RankTable& ranks) const {
  const ProcessLinks::LinkedPeer& own = ranks.peer(channel_.rank());
  for (const Rank rank : ranks.all_ranks())
    if (const ProcessLinks::LinkedPeer& peer = ranks.peer(rank); !peer.is_local)
      throw Error{ErrorCode::invalid_argument,
                  name_of(rank, peer.info.host.name) + " shares no memory with " +
                      name_of(channel_.rank(), own.info.host.name) +
                      "; choose transport auto or tcp",
                  rank};
}

std::shared_ptr<const detail::SharedConfig> WorldConnector::shared_config(
    const RankTable& ranks) const {
  const std::vector<Rank> everyone = ranks.all_ranks();
  const std::vector<int> numbers = ranks.hosts_of(everyone);
  std::vector<std::pair<int, std::string>> hosts;
  for (const Rank rank : everyone)
    if (numbers[static_cast<std::size_t>(rank)] == rank)
      hosts.emplace_back(rank, ranks.peer(rank).info.host.name);
  return unpack_shared_config(shared_config_, hosts);
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
  WorldConnector connector{channel, options, deadline};
  Connections connections = connector.connect();
  auto shared_config = connector.shared_config(connections.ranks);
  const auto world = std::make_shared<World>(std::move(connections), std::move(shared_config));
  if (options.transports == TransportSet::none) return world;
  world->set_remote_costs(remote_costs(*world, connector.known_network(), deadline));
  return world;
}

}  // namespace tutti::runtime
