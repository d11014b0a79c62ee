#include "world.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/init.hpp>

#include "backends/hybrid/hybrid.hpp"
#include "selector/cost_models.hpp"

#include "import_memory.hpp"

namespace tutti::runtime {
namespace {

using detail::combine;

/// The ranks of a communicator, and the number of times that each subgroup of them was made.
class WorldGroup final : public Group {
 public:
  /// @param failure_signal of the communicator. @param parent that of the communicator of which it
  /// is a group, or null.
  WorldGroup(std::shared_ptr<World> world, std::uint64_t id, std::vector<Rank> members,
             std::shared_ptr<FailureSignal> failure_signal, std::shared_ptr<FailureSignal> parent)
      : world_{std::move(world)}, id_{id}, members_{std::move(members)},
        failure_signal_{std::move(failure_signal)}, parent_{std::move(parent)} {}

  [[nodiscard]] CommunicatorParts subgroup(std::span<const Rank> members,
                                           std::uint64_t key) override {
    const std::vector<Rank> ranks = to_world_ranks(members);
    const std::lock_guard lock{mutex_};
    std::uint64_t& made = made_[{ranks, key}];
    try {
      CommunicatorParts communicator_parts =
          world_->make_parts(World::id_of(id_, ranks, made + 1, key), ranks, failure_signal_);
      ++made;  // counted only on success, so that all ranks count alike when this one tries again
      return communicator_parts;
    } catch (const std::bad_alloc&) {
      throw Error{ErrorCode::transport, "there is no memory for another communicator"};
    }
  }
  [[nodiscard]] std::vector<CallStatus> inquire(std::span<const Rank> peers, std::uint64_t call,
                                                Duration patience) override {
    std::vector<CallStatus> found = world_->inquire(id_, to_world_ranks(peers), call, patience);
    if (parent_ && parent_->is_raised() &&
        std::ranges::count(found, CallStatus::State::absent, &CallStatus::state) > 0)
      fail_as_parent();
    return found;
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override {
    return world_->visible_memory();
  }
  [[nodiscard]] std::shared_ptr<std::byte> import_memory(
      const MappedFile& file, const detail::Exchange& exchange) override {
    const std::shared_ptr<shm::Domain>& domain = world_->links()->domain();
    if (domain == nullptr) return nullptr;
    return runtime::import_memory(domain, world_->ranks().numbers_of(members_), file, exchange);
  }
  [[nodiscard]] const World& world() const noexcept { return *world_; }
  [[nodiscard]] std::string describe() const override { return world_->describe(members_); }

 private:
  /// A rank that failed while it made this communicator never makes it.
  void fail_as_parent() const {
    try {
      parent_->check();
    } catch (const Error& error) {
      failure_signal_->raise(error);
    }
  }
  [[nodiscard]] std::vector<Rank> to_world_ranks(std::span<const Rank> ranks) const {
    std::vector<Rank> found;
    for (const Rank rank : ranks) found.push_back(members_.at(static_cast<std::size_t>(rank)));
    return found;
  }

  const std::shared_ptr<World> world_;
  const std::uint64_t id_;
  const std::vector<Rank> members_;  // by their ranks in the world
  const std::shared_ptr<FailureSignal> failure_signal_;
  const std::shared_ptr<FailureSignal> parent_;
  std::mutex mutex_{};
  std::map<std::pair<std::vector<Rank>, std::uint64_t>, std::uint64_t>
      made_{};  // by members and key
};

}  // namespace

std::uint64_t World::id_of(std::uint64_t parent, std::span<const Rank> members, std::uint64_t times,
                           std::uint64_t key) {
  std::uint64_t id = combine(combine(parent, times), key);
  for (const Rank member : members) id = combine(id, static_cast<std::uint64_t>(member));
  return std::max<std::uint64_t>(combine(id, members.size()), 1);
}

World::World(Connections connections, std::shared_ptr<const detail::SharedConfig> shared_config)
    : connections_{std::move(connections)},
      remote_costs_(transports_between_hosts()), shared_config_{std::move(shared_config)} {
  const std::vector<PeerInfo> infos = ranks().infos_of(ranks().all_ranks());
  shared_cores_ = shared_cores(infos, rank());
  fewest_cores_ = fewest_shared_cores(infos);
}

Communicator World::start_communicator(const std::vector<Rank>& members, StartStep step,
                                       Duration timeout) {
  const std::uint64_t id = id_of(connections_.id, members, static_cast<std::uint64_t>(step));
  return make_communicator(make_parts(id, members), make_host_memory(), {.timeout = timeout});
}

CommunicatorParts World::communicator_parts() {
  const std::vector<Rank> members = ranks().all_ranks();
  return make_parts(id_of(connections_.id, members, 0), members);
}

std::vector<CallStatus> World::inquire(std::uint64_t communicator,
                                       std::span<const Rank> ranks_asked, std::uint64_t call,
                                       Duration patience) {
  Control* const control = links()->control();
  if (control == nullptr) return std::vector<CallStatus>(ranks_asked.size());
  return control->inquire(communicator, ranks().numbers_of(ranks_asked), call, patience);
}

CommunicatorParts World::make_parts(std::uint64_t communicator, const std::vector<Rank>& members,
                                    std::shared_ptr<FailureSignal> parent) {
  auto calls = std::make_shared<CallCounter>();
  Control* const control = links()->control();
  // A single rank watches no process, but its forked child must not send messages to it.
  const std::shared_ptr<FailureSignal> failure_signal =
      control != nullptr
          ? control->watch(communicator, ranks().numbers_of(members), calls, members)
          : std::make_shared<FailureSignal>(FailureSignal::Report{}, links()->guard());
  std::unique_ptr<Transport> transport = connect(communicator, members, failure_signal);
  std::vector<CostModel> other_costs;
  const std::size_t transports = transport ? transport->capabilities().transports.size() : 0;
  for (std::size_t number = 1; number < transports; ++number)
    other_costs.push_back(cost_model_of(members, number));
  return {.transport = std::move(transport),
          .group = std::make_shared<WorldGroup>(shared_from_this(), communicator, members,
                                                failure_signal, std::move(parent)),
          .calls = std::move(calls),
          .failure_signal = failure_signal,
          .cost_model = cost_model_of(members),
          .other_cost_models = std::move(other_costs),
          .hosts = ranks().hosts_of(members),
          .localities = ranks().localities_of(members),
          .shared_config = shared_config_};
}

// Ranks of several hosts wait for the network, even if some of them share memory.
CostModel World::cost_model_of(const std::vector<Rank>& members, std::size_t transport) const {
  if (ranks().share_memory(members))
    return detail::memory_costs(shared_cores_, shm::longest_buffered(members.size()));
  CostModel cost_model = remote_costs_[transport];
  std::set<Rank> domains;
  for (const Rank member : members) domains.insert(ranks().memory_domain(member));
  if (domains.size() < members.size() && ranks().count_hosts(members) > 1) {
    cost_model.inside = detail::kInsideCosts;
    cost_model.inside->shared_cores = fewest_cores_;  // the same on all hosts
  }
  return cost_model;
}

std::unique_ptr<Transport> World::connect(std::uint64_t communicator,
                                          const std::vector<Rank>& members,
                                          const std::shared_ptr<FailureSignal>& failure_signal) {
  const std::shared_ptr<shm::Domain>& domain = links()->domain();
  if (!domain && !network() && !links()->fabric()) return nullptr;  // TransportSet::none
  if (!domain) return std::move(connect_remotely(communicator, members, failure_signal).front());
  std::vector<bool> is_local;
  for (const Rank member : members) is_local.push_back(ranks().peer(member).is_local);
  std::unique_ptr<Transport> local =
      domain->transport(communicator, ranks().numbers_of(members), failure_signal,
                        {.oversubscribed = shared_cores_ > 0});
  if (std::ranges::count(is_local, false) == 0) return local;
  return hybrid::make_transport({.local = std::move(local),
                                 .remote = connect_remotely(communicator, members, failure_signal),
                                 .is_local = std::move(is_local),
                                 .failure_signal = failure_signal});
}

/// Makes one for each transport between hosts.
std::vector<std::unique_ptr<Transport>> World::connect_remotely(
    std::uint64_t communicator, const std::vector<Rank>& members,
    const std::shared_ptr<FailureSignal>& failure_signal) {
  std::vector<std::unique_ptr<Transport>> transports;
  if (!network() || connections_.has_tcp_too)
    transports.push_back(links()->fabric()->transport(communicator, ranks().numbers_of(members),
                                                      failure_signal, shared_cores_ > 0));
  if (network()) transports.push_back(network()->transport(members, communicator, failure_signal));
  return transports;
}

std::string World::transports_text() const {
  const bool shares_memory = links()->segment() != nullptr;
  bool uses_tcp = !shares_memory;
  bool is_encrypted = false;
  for (const Rank rank : ranks().all_ranks()) {
    const ProcessLinks::LinkedPeer& peer = ranks().peer(rank);
    uses_tcp = uses_tcp || (!peer.is_local && (!network() || connections_.has_tcp_too));
    is_encrypted = is_encrypted || peer.is_encrypted;
  }
  std::string text = shares_memory ? "shared memory" : "TCP";
  if (shares_memory && uses_tcp) text += " and TCP";
  if (uses_tcp && links()->options().payload_checksum) text += " with payload checksums";
  if (network()) text += " and " + network()->name();
  if (uses_tcp && is_encrypted) text += " with TLS";
  return text;
}

std::string World::describe(const std::vector<Rank>& members) const {
  const auto count = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  if (ranks().size() == 1) return "1 rank, alone";
  return count(members.size(), "rank") + " on " +
         count(static_cast<std::size_t>(ranks().count_hosts(members)), "host") + " by " +
         connections_.origin + ", over " + transports_text();
}

}  // namespace tutti::runtime

namespace tutti::v0 {

std::string address_of(Communicator& communicator) {
  const auto* const group = dynamic_cast<const runtime::WorldGroup*>(group_of(communicator));
  const std::string address = group == nullptr ? "" : group->world().links()->address();
  return address.empty() ? "" : runtime::parse_host_and_port(address).host;
}

}  // namespace tutti::v0
