#include "world.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "backends/hybrid/hybrid.hpp"
#include "selector/cost_models.hpp"

namespace tutti::runtime {
namespace {

using detail::combine;

/// Ranks of a world, and how often each subgroup of them was made.
class WorldGroup final : public Group {
 public:
  WorldGroup(std::shared_ptr<World> world, std::uint64_t id, std::vector<Rank> members)
      : world_{std::move(world)}, id_{id}, members_{std::move(members)} {}

  [[nodiscard]] CommunicatorParts subgroup(std::span<const Rank> members,
                                           std::uint64_t key) override {
    const std::vector<Rank> ranks = in_world(members);
    const std::lock_guard lock{mutex_};
    std::uint64_t& made = made_[{ranks, key}];
    try {
      CommunicatorParts communicator_parts =
          world_->make_parts(World::id_of(id_, ranks, made + 1, key), ranks);
      ++made;  // only now, so that this rank counts like the others when it tries again
      return communicator_parts;
    } catch (const std::bad_alloc&) {
      throw Error{ErrorCode::transport, "there is no memory for another communicator"};
    }
  }
  [[nodiscard]] std::vector<CallStatus> inquire(std::span<const Rank> peers, std::uint64_t call,
                                                Duration patience) override {
    return world_->inquire(id_, in_world(peers), call, patience);
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
  std::map<std::pair<std::vector<Rank>, std::uint64_t>, std::uint64_t> made_{};  // by key, too
};

}  // namespace

/// Every member comes to the same id by itself: nothing need be agreed on.
std::uint64_t World::id_of(std::uint64_t parent, std::span<const Rank> members, std::uint64_t times,
                           std::uint64_t key) {
  std::uint64_t id = combine(combine(parent, times), key);
  for (const Rank member : members) id = combine(id, static_cast<std::uint64_t>(member));
  return std::max<std::uint64_t>(combine(id, members.size()), 1);
}

CommunicatorParts World::communicator_parts() {
  const std::vector<Rank> members = everyone();
  return make_parts(id_of(id_, members, 0), members);
}

std::vector<Rank> World::everyone() const {
  std::vector<Rank> ranks(processes_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<Rank> World::numbers_of(std::span<const Rank> members) const {
  std::vector<Rank> numbers;
  for (const Rank member : members) numbers.push_back(numbers_[static_cast<std::size_t>(member)]);
  return numbers;
}

std::vector<CallStatus> World::inquire(std::uint64_t communicator, std::span<const Rank> ranks,
                                       std::uint64_t call, Duration patience) {
  Control* const control = links_->control();
  if (control == nullptr) return std::vector<CallStatus>(ranks.size());
  return control->inquire(communicator, numbers_of(ranks), call, patience);
}

CommunicatorParts World::make_parts(std::uint64_t communicator, const std::vector<Rank>& members) {
  auto calls = std::make_shared<CallCounter>();
  Control* const control = links_->control();
  // Alone there is nobody to watch, but what a forked child sent to itself would reach its parent.
  const std::shared_ptr<FailureSignal> failure_signal =
      control != nullptr ? control->watch(communicator, numbers_of(members), calls, members)
                         : std::make_shared<FailureSignal>(FailureSignal::Tell{}, links_->guard());
  std::unique_ptr<Transport> transport = connect(communicator, members, failure_signal);
  std::vector<CostModel> other_routes;
  const std::size_t transports = transport ? transport->capabilities().transports.size() : 0;
  for (std::size_t way = 1; way < transports; ++way)
    other_routes.push_back(tariff_of(members, way));
  return {.transport = std::move(transport),
          .group = std::make_shared<WorldGroup>(shared_from_this(), communicator, members),
          .calls = std::move(calls),
          .failure_signal = failure_signal,
          .cost_model = tariff_of(members),
          .other_routes = std::move(other_routes),
          .hosts = hosts_of(members),
          .localities = localities_of(members),
          .shared_config = shared_config_};
}

std::vector<int> World::hosts_of(const std::vector<Rank>& members) const {
  std::vector<int> hosts;
  for (const Rank member : members) hosts.push_back(host_of_[static_cast<std::size_t>(member)]);
  return hosts;
}

std::vector<Locality> World::localities_of(const std::vector<Rank>& members) const {
  std::vector<Locality> localities;
  for (const Rank member : members) localities.push_back(peer(member).info.locality);
  return localities;
}

// Ranks of several hosts wait for the network, whatever else they do.
CostModel World::tariff_of(const std::vector<Rank>& members, std::size_t way) const {
  const auto memory_domain = [this](Rank rank) {
    return memory_domains_[static_cast<std::size_t>(rank)];
  };
  const bool share_memory = std::ranges::all_of(members, [&](Rank member) {
    return memory_domain(member) == memory_domain(members.front());
  });
  if (!share_memory) {
    CostModel cost_model = remote_tariffs_[way];
    std::set<Rank> domains;
    for (const Rank member : members) domains.insert(memory_domain(member));
    const bool some_do = domains.size() < members.size() && count_hosts(members) > 1;
    if (some_do) {
      cost_model.inside = detail::kInsideCosts;
      cost_model.inside->shared_cores = fewest_cores_;  // the same on all hosts
    }
    return cost_model;
  }
  return detail::memory_tariff(shared_cores_, shm::longest_buffered(members.size()));
}

std::unique_ptr<Transport> World::connect(std::uint64_t communicator,
                                          const std::vector<Rank>& members,
                                          const std::shared_ptr<FailureSignal>& failure_signal) {
  std::vector<bool> is_local;
  for (const Rank member : members) is_local.push_back(peer(member).is_local);
  const std::shared_ptr<shm::Domain>& domain = links_->domain();
  const auto local = [&] {
    return domain->transport(communicator, numbers_of(members), failure_signal,
                             {.oversubscribed = shared_cores_ > 0});
  };
  if (!domain && !network_ && !links_->fabric()) return nullptr;  // TransportSet::none
  if (!domain) return std::move(connect_remotely(communicator, members, failure_signal).front());
  if (std::ranges::count(is_local, false) == 0) return local();
  return hybrid::make_transport({.local = local(),
                                 .remote = connect_remotely(communicator, members, failure_signal),
                                 .is_local = std::move(is_local),
                                 .failure_signal = failure_signal});
}

/// One for each way.
std::vector<std::unique_ptr<Transport>> World::connect_remotely(
    std::uint64_t communicator, const std::vector<Rank>& members,
    const std::shared_ptr<FailureSignal>& failure_signal) {
  std::vector<std::unique_ptr<Transport>> transports;
  if (!network_ || has_tcp_too_)
    transports.push_back(links_->fabric()->transport(communicator, numbers_of(members),
                                                     failure_signal, shared_cores_ > 0));
  if (network_) transports.push_back(network_->transport(members, communicator, failure_signal));
  return transports;
}

int World::count_hosts(const std::vector<Rank>& members) const {
  std::set<std::string> hosts;
  for (const Rank member : members) hosts.insert(peer(member).info.host.name);
  return static_cast<int>(hosts.size());
}

std::string World::describe(const std::vector<Rank>& members) const {
  const auto count = [](std::size_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  if (processes_.size() == 1) return "1 rank, alone";
  const bool shares_memory = links_->segment() != nullptr;
  std::string transports = shares_memory ? "shared memory" : "TCP";
  if (shares_memory && uses_tcp_) transports += " and TCP";
  if (uses_tcp_ && has_checksums_) transports += " with payload checksums";
  if (network_) transports += " and " + network_->name();
  if (uses_tcp_ && is_encrypted_) transports += " with TLS";
  return count(members.size(), "rank") + " on " +
         count(static_cast<std::size_t>(count_hosts(members)), "host") + " by " + origin_ +
         ", over " + transports;
}

}  // namespace tutti::runtime
