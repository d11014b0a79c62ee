// World::connect: connects the processes of a world, or uses the links of an earlier one.
#include <set>
#include <utility>

#include "fields.hpp"
#include "memory_domain.hpp"
#include "startup_step.hpp"
#include "world.hpp"
#include "world_costs.hpp"
#include "world_time_calls.hpp"

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

/// What must be equal on all ranks, as a number.
std::uint64_t summary_of(const WorldOptions& options) {
  std::uint64_t summary = combine(0, static_cast<std::uint64_t>(options.transports));
  summary = combine(summary, options.links.tls ? 1 : 0);
  for (const auto& [name, value] : options.mesh.agreed)
    summary = combine(combine(summary, std::string_view{name}), std::string_view{value});
  return summary;
}

NetworkSpeed speed_in(std::string_view& report) {
  const auto number = take<std::uint8_t>(report);
  constexpr auto kLast = static_cast<std::uint8_t>(NetworkSpeed::gigabits_10);
  return number > kLast ? NetworkSpeed::unknown : static_cast<NetworkSpeed>(number);
}

/// The start of a world, until its ranks are connected.
class WorldConnector {
 public:
  WorldConnector(Channel& channel, const WorldOptions& options, Deadline deadline)
      : channel_{channel}, options_{options}, deadline_{deadline}, settings_{settings_of(options)} {
  }

  /// Collective. @return the connections. Throws as connect_mesh.
  [[nodiscard]] World::Connections connect();
  /// @return what rank 0 has read, on all ranks. Throws Error{invalid_argument}, on all ranks.
  [[nodiscard]] ReceivedConfig received_config(const RankTable& ranks) const;
  /// @return what rank 0 knows of the network between hosts.
  [[nodiscard]] KnownNetwork known_network() const {
    return {.megabits = options_.network_megabits, .speed = known_speed_};
  }

 private:
  /// What each rank sends to all others before they know each other's links.
  struct Hello {
    std::uint64_t process = 0;
    std::uint64_t next_world = 0;
    std::uint64_t summary = 0;
  };
  [[nodiscard]] std::vector<std::string> on_all(const std::function<std::string()>& part) {
    return all_or_none(channel_, options_.mesh.host, deadline_, part);
  }
  [[nodiscard]] std::string own_hello();
  [[nodiscard]] bool exchange_hellos();
  [[nodiscard]] bool find_links();
  void connect_anew();
  [[nodiscard]] MemoryDomain memory_domain(const std::vector<Rank>& numbers) const;
  [[nodiscard]] NetworkSpeed own_known_speed(const std::vector<Rank>& numbers) const;
  void require_memory(const RankTable& ranks) const;

  Channel& channel_;
  const WorldOptions& options_;
  const Deadline deadline_;
  const LinkSettings settings_;
  std::shared_ptr<Links> links_{};
  std::vector<std::uint64_t> processes_{};  // by rank, as Links::process; empty: ranks are threads
  std::uint64_t id_ = 0;
  std::vector<Rank> numbers_{};         // by rank, of the processes in the links
  std::vector<Rank> memory_domains_{};  // as Mesh::memory_domains
  std::string shared_config_{};         // of rank 0, packed
  NetworkSpeed known_speed_ = NetworkSpeed::unknown;
};

World::Connections WorldConnector::connect() {
  const bool have_equal_settings = exchange_hellos();
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

std::string WorldConnector::own_hello() {
  links_ = Links::of_process(settings_, channel_.size());
  std::string hello;
  put(hello, Hello{links_->process(), links_->next_world(), summary_of(options_)});
  if (channel_.rank() == 0) {
    SharedConfigFiles files = options_.shared_config;
    files.timed.is_wanted = files.timed.is_wanted && channel_.size() > 1;
    hello += pack_shared_config(files);
  }
  return hello;
}

/// Collective. Rank 0 numbers the world and sends what it has read. @return whether the settings of
/// all ranks are equal.
bool WorldConnector::exchange_hellos() {
  const std::vector<std::string> hellos = on_all([this] { return own_hello(); });
  bool are_equal = true;
  std::uint64_t summary = 0;
  for (std::string_view bytes : hellos) {
    const auto hello = take<Hello>(bytes);
    processes_.push_back(hello.process);
    if (processes_.size() == 1) {
      id_ = hello.next_world;
      summary = hello.summary;
      shared_config_ = bytes;
    }
    are_equal = are_equal && hello.summary == summary;
  }
  // Threads of one process cannot share links.
  if (std::set<std::uint64_t>(processes_.begin(), processes_.end()).size() < processes_.size())
    processes_.clear();
  return are_equal;
}

/// Collective. @return whether the ranks' processes are connected already, all of them by links
/// that both ends know.
bool WorldConnector::find_links() {
  const std::vector<std::string> reports = on_all([this] {
    Links::Known known;
    if (!processes_.empty()) known = links_->find(processes_, channel_.rank());
    numbers_ = known.numbers;
    std::string report;
    put(report, static_cast<std::uint8_t>(numbers_.empty() ? 0 : 1));
    put(report, known.balance);
    put(report, memory_domain(numbers_));
    put(report, own_known_speed(numbers_));
    return report;
  });
  bool are_linked = true;
  std::uint64_t balance = 0;
  std::vector<MemoryDomain> memory_domains;
  for (std::string_view report : reports) {
    are_linked = take<std::uint8_t>(report) != 0 && are_linked;
    balance += take<std::uint64_t>(report);
    memory_domains.push_back(take<MemoryDomain>(report));
    if (memory_domains.size() == 1) known_speed_ = speed_in(report);
  }
  if (!are_linked || balance != 0) return false;
  memory_domains_ = memory_domains_of(memory_domains);
  return true;
}

/// Collective. Connects every two ranks, also those whose processes have a link already.
void WorldConnector::connect_anew() {
  if (processes_.empty()) {
    static_cast<void>(on_all([this] {
      links_ = std::make_shared<Links>(settings_, channel_.size());
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
  const Links::Peer& own = ranks.peer(channel_.rank());
  for (const Rank rank : ranks.everyone())
    if (const Links::Peer& peer = ranks.peer(rank); !peer.is_local)
      throw Error{ErrorCode::invalid_argument,
                  name_of(rank, peer.info.host.name) + " shares no memory with " +
                      name_of(channel_.rank(), own.info.host.name) +
                      "; choose transport auto or tcp",
                  rank};
}

ReceivedConfig WorldConnector::received_config(const RankTable& ranks) const {
  const std::vector<Rank> everyone = ranks.everyone();
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
  const ReceivedConfig received = connector.received_config(connections.ranks);
  const auto world = std::make_shared<World>(std::move(connections), received.shared_config);
  if (options.transports == TransportSet::none) return world;
  world->set_remote_costs(remote_costs(*world, connector.known_network(), deadline));
  if (received.may_time_calls) time_calls_once(*world, received.timed_path, deadline);
  return world;
}

}  // namespace tutti::runtime
