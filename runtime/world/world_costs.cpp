#include "world_costs.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "selector/cost_models.hpp"

#include "measure_network.hpp"

namespace tutti::runtime {
namespace {

/// The network is not measured if less time is left until the deadline of the start: a measurement
/// may take half of it.
constexpr std::chrono::seconds kTimeToMeasure{4};

/// The key under which the speed between two hosts is stored: their names. A user's network may be
/// faster than TCP, so its name is a part of it.
std::pair<std::string, std::string> host_pair(const std::vector<PeerInfo>& infos, Rank remote,
                                              const std::shared_ptr<Network>& network) {
  return {infos.front().host.name, infos[static_cast<std::size_t>(remote)].host.name +
                                       (network ? " by " + network->name() : std::string{})};
}

/// @return the costs over another network, with the time per byte of TCP.
CostModel costs_over(const Network& network, CostModel of_tcp) {
  of_tcp.costs.alpha = network.cost_model().costs.alpha;
  if (of_tcp.lasting) of_tcp.lasting->alpha = of_tcp.costs.alpha;
  of_tcp.origin += ", over " + network.name();
  return of_tcp;
}

/// The latency is half of a round trip of one byte.
void set_measured(LinkCosts& costs, const ProbeTimes& probes) {
  constexpr Femtoseconds kPerNanosecond = 1'000'000;
  const Duration bytes = std::max(probes.longer - probes.shorter, Duration{1});
  costs.alpha = probes.message.count() * kPerNanosecond / 2;
  costs.beta = bytes.count() * kPerNanosecond /
               static_cast<Femtoseconds>(kLongProbeBytes - kShortProbeBytes);
}

/// Collective. @param unknown the result of a failed measurement. @param measure runs on rank 0 and
/// `remote`. @return rank 0's result, on all ranks.
template <class Measured>
Measured measured_by(World& world, Rank remote, Deadline deadline, Measured unknown,
                     const std::function<Measured(Communicator& pair)>& measure) {
  static_assert(std::is_trivially_copyable_v<Measured>);
  const auto left = [deadline] {
    const Duration time = deadline - std::chrono::steady_clock::now();
    return std::max<Duration>(time, std::chrono::milliseconds{1});
  };
  Measured found = unknown;
  if ((world.rank() == 0 || world.rank() == remote) && left() >= kTimeToMeasure) {
    try {
      Communicator pair = world.start_communicator({0, remote}, World::StartStep::measure, left());
      found = measure(pair);
    } catch (const std::exception&) {
      found = unknown;  // the other ranks wait for the broadcast
    }
  }
  Communicator all = world.start_communicator(world.ranks().all_ranks(),
                                              World::StartStep::share_measurement, left());
  all.broadcast(std::as_writable_bytes(std::span{&found, 1}), 0);
  return found;
}

/// The costs by class of speed, for the only transport between hosts.
CostModel costs_by_class(World& world, const std::vector<PeerInfo>& infos, Rank remote,
                         const KnownNetwork& known, Deadline deadline) {
  if (known.megabits > 0) return detail::network_costs(known.megabits);
  NetworkSpeed speed = known.speed;
  if (speed == NetworkSpeed::unknown)
    speed = measured_by<NetworkSpeed>(world, remote, deadline, speed, [](Communicator& pair) {
      const ProbeTimes probes = measure_network(pair);
      return speed_between(probes.shorter, probes.longer);
    });
  world.links()->set_speed(host_pair(infos, remote, world.network()), speed);
  return detail::network_costs(speed);
}

/// The costs of TCP and of the user's network. Classes of speed do not show which one is faster, so
/// both have measured costs.
std::vector<CostModel> costs_of_both(World& world, Rank remote, const KnownNetwork& known,
                                     Deadline deadline) {
  std::array<ProbeTimes, 2> transports{};
  if (known.megabits == 0)
    transports = measured_by<std::array<ProbeTimes, 2>>(
        world, remote, deadline, transports, [](Communicator& pair) {
          const std::vector<std::string> names = transport_of(pair).capabilities().transports;
          return std::array{measure_network(pair, names[0]), measure_network(pair, names[1])};
        });
  std::vector<CostModel> costs;
  for (const ProbeTimes& probes : transports) {
    CostModel cost_model = known.megabits > 0 ? detail::network_costs(known.megabits)
                                              : detail::network_costs(NetworkSpeed::unknown);
    if (!costs.empty()) cost_model = costs_over(*world.network(), std::move(cost_model));
    if (probes.message > Duration::zero()) {
      set_measured(cost_model.costs, probes);
      cost_model.origin = "measured: between hosts";
      if (!costs.empty()) cost_model.origin += ", over " + world.network()->name();
    }
    costs.push_back(std::move(cost_model));
  }
  return costs;
}

}  // namespace

NetworkSpeed known_speed(const ProcessLinks& links, const std::vector<PeerInfo>& infos,
                         const std::shared_ptr<Network>& network) {
  const Rank remote = first_remote_rank(infos);
  return remote < 0 ? NetworkSpeed::unknown : links.speed(host_pair(infos, remote, network));
}

std::vector<CostModel> remote_costs(World& world, const KnownNetwork& known, Deadline deadline) {
  const std::vector<PeerInfo> infos = world.ranks().infos_of(world.ranks().all_ranks());
  const Rank remote = first_remote_rank(infos);
  const std::shared_ptr<Network>& network = world.network();
  const bool has_both = world.transports_between_hosts() == 2;
  if (remote < 0) {
    const CostModel loopback = detail::loopback_costs(shared_cores(infos, world.rank()));
    if (!network) return {loopback};
    return has_both ? std::vector{loopback, network->cost_model()}
                    : std::vector{network->cost_model()};
  }
  std::vector<CostModel> costs;
  if (has_both) {
    costs = costs_of_both(world, remote, known, deadline);
  } else {
    costs = {costs_by_class(world, infos, remote, known, deadline)};
    if (network) costs.front() = costs_over(*network, std::move(costs.front()));
  }
  for (CostModel& cost_model : costs) cost_model.costs.shared_cores = fewest_shared_cores(infos);
  return costs;
}

}  // namespace tutti::runtime
