#include "world_costs.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "measure_network.hpp"
#include "selector/cost_models.hpp"

namespace tutti::runtime {
namespace {

/// With less time left until the deadline of a start, the network is not measured: a measurement
/// may take half of it.
constexpr std::chrono::seconds kTimeToMeasure{4};

/// The names of the two hosts whose network is measured. A network of the user's may be faster than
/// TCP, so its name is part of them.
std::pair<std::string, std::string> ends_of_network(const std::vector<PeerInfo>& infos, Rank far,
                                                    const std::shared_ptr<Network>& network) {
  return {infos.front().host.name, infos[static_cast<std::size_t>(far)].host.name +
                                       (network ? " by " + network->name() : std::string{})};
}

/// @param of_tcp costs over TCP. @return those over another network, where a byte takes as long.
CostModel costs_over(const Network& network, CostModel of_tcp) {
  of_tcp.costs.alpha = network.cost_model().costs.alpha;
  if (of_tcp.lasting) of_tcp.lasting->alpha = of_tcp.costs.alpha;
  of_tcp.origin += ", over " + network.name();
  return of_tcp;
}

/// The latency is half of a round trip of one byte.
void set_measured(LinkCosts& costs, const Probes& probes) {
  constexpr Femtoseconds kPerNanosecond = 1'000'000;
  const Duration bytes = std::max(probes.longer - probes.shorter, Duration{1});
  costs.alpha = probes.message.count() * kPerNanosecond / 2;
  costs.beta = bytes.count() * kPerNanosecond /
               static_cast<Femtoseconds>(kLongProbeBytes - kShortProbeBytes);
}

/// Collective. @param unknown the result where nothing could be measured. @param measure called on
/// rank 0 and `far`; rank 0's result counts. @return it, on all ranks.
template <class Measured>
Measured measured_by(World& world, Rank far, Deadline deadline, Measured unknown,
                     const std::function<Measured(Communicator& pair)>& measure) {
  static_assert(std::is_trivially_copyable_v<Measured>);
  const auto left = [deadline] {
    const Duration time = deadline - std::chrono::steady_clock::now();
    return std::max<Duration>(time, std::chrono::milliseconds{1});
  };
  Measured found = unknown;
  if ((world.rank() == 0 || world.rank() == far) && left() >= kTimeToMeasure) {
    try {
      Communicator pair = world.start_communicator({0, far}, World::StartStep::measure, left());
      found = measure(pair);
    } catch (const std::exception&) {
      found = unknown;  // the other ranks wait for the broadcast
    }
  }
  Communicator all = world.start_communicator(world.ranks().everyone(),
                                              World::StartStep::share_measurement, left());
  all.broadcast(std::as_writable_bytes(std::span{&found, 1}), 0);
  return found;
}

/// Costs by class of speed, for the only transport between hosts.
CostModel costs_by_class(World& world, const std::vector<PeerInfo>& infos, Rank far,
                         const KnownNetwork& known, Deadline deadline) {
  if (known.megabits > 0) return detail::network_costs(known.megabits);
  NetworkSpeed speed = known.speed;
  if (speed == NetworkSpeed::unknown)
    speed = measured_by<NetworkSpeed>(world, far, deadline, speed, [](Communicator& pair) {
      const Probes probes = measure_network(pair);
      return speed_between(probes.shorter, probes.longer);
    });
  world.links()->note_speed(ends_of_network(infos, far, world.network()), speed);
  return detail::network_costs(speed);
}

/// Costs of TCP and of the user's network. Classes of speeds do not say which of the two is faster,
/// so both have the costs that were measured.
std::vector<CostModel> costs_of_both(World& world, Rank far, const KnownNetwork& known,
                                     Deadline deadline) {
  std::array<Probes, 2> transports{};
  if (known.megabits == 0)
    transports = measured_by<std::array<Probes, 2>>(
        world, far, deadline, transports, [](Communicator& pair) {
          const std::vector<std::string> names = transport_of(pair).capabilities().transports;
          return std::array{measure_network(pair, names[0]), measure_network(pair, names[1])};
        });
  std::vector<CostModel> costs;
  for (const Probes& probes : transports) {
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

NetworkSpeed known_speed(const Links& links, const std::vector<PeerInfo>& infos,
                         const std::shared_ptr<Network>& network) {
  const Rank far = first_far_from_rank_0(infos);
  return far < 0 ? NetworkSpeed::unknown : links.speed(ends_of_network(infos, far, network));
}

std::vector<CostModel> remote_costs(World& world, const KnownNetwork& known, Deadline deadline) {
  const std::vector<PeerInfo> infos = world.ranks().infos_of(world.ranks().everyone());
  const Rank far = first_far_from_rank_0(infos);
  const std::shared_ptr<Network>& network = world.network();
  const bool has_both = world.transports_between_hosts() == 2;
  if (far < 0) {
    const CostModel loopback = detail::loopback_costs(shared_cores(infos, world.rank()));
    if (!network) return {loopback};
    return has_both ? std::vector{loopback, network->cost_model()}
                    : std::vector{network->cost_model()};
  }
  std::vector<CostModel> costs;
  if (has_both) {
    costs = costs_of_both(world, far, known, deadline);
  } else {
    costs = {costs_by_class(world, infos, far, known, deadline)};
    if (network) costs.front() = costs_over(*network, std::move(costs.front()));
  }
  for (CostModel& cost_model : costs) cost_model.costs.shared_cores = fewest_shared_cores(infos);
  return costs;
}

}  // namespace tutti::runtime
