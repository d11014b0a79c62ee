#include "network_speed.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// What shapers and switches let pass as a burst must not count for much.
constexpr std::array<std::size_t, 2> kProbeBytes{std::size_t{256} << 10, std::size_t{1280} << 10};
constexpr int kMostProbes = 5;
// A network on which the bytes take so long is measured well enough by them.
constexpr std::chrono::milliseconds kLongProbe{60};
constexpr std::chrono::seconds kPatience{1};

// Longer messages from memory that all see are worked on where they lie.
constexpr std::int64_t kBufferedVisible = 8192;

constexpr double kClassLimit = 3.16;  // the geometric mean of two decades

/// Of one connection between hosts that runs at a number of megabits per second.
constexpr LinkCosts costs_at(std::int64_t megabits) noexcept {
  return {
      .alpha = 25'000'000'000, .beta = 8'000'000'000 / megabits, .gamma = 50'000, .overlaps = true};
}

}  // namespace

NetworkSpeed speed_of(std::size_t bytes, Duration time) noexcept {
  if (time <= Duration::zero()) return NetworkSpeed::gigabits_10;
  const double gigabits = 8.0 * static_cast<double>(bytes) / static_cast<double>(time.count());
  if (gigabits < kClassLimit / 10) return NetworkSpeed::megabits_100;
  return gigabits < kClassLimit ? NetworkSpeed::gigabit_1 : NetworkSpeed::gigabits_10;
}

// A long probe takes longer than a short one for its bytes alone, since both wait for the network's
// latency alike. Where that is most of what they take, or cores are busy, a small difference is
// lost in it: then nothing says that the network is as fast as it looks.
NetworkSpeed speed_between(Duration short_probe, Duration long_probe) noexcept {
  const Duration difference = long_probe - short_probe;
  const NetworkSpeed seen = speed_of(kProbeBytes[1] - kProbeBytes[0], difference);
  const bool is_lost = seen == NetworkSpeed::gigabits_10 && short_probe > difference;
  return is_lost ? NetworkSpeed::gigabit_1 : seen;
}

// What disturbs a probe makes it longer, so the shortest counts.
NetworkSpeed measure_network(Communicator& pair) {
  std::vector<std::uint8_t> probe(kProbeBytes.back());
  std::uint8_t answer = 0;
  const Options whole{.algorithm = "binomial", .timeout = kPatience};
  std::array<Duration, 2> shortest{Duration::max(), Duration::max()};
  bool is_slow = false;
  for (int probes = 1; probe.front() == 0; ++probes) {
    if (pair.rank() == 0)  // the first byte says whether there is another one
      probe.front() = probes == kMostProbes || is_slow ? 1 : 0;
    for (std::size_t i = 0; i < kProbeBytes.size(); ++i) {
      const auto begin = Clock::now();
      pair.broadcast(std::span{probe}.first(kProbeBytes[i]), 0, whole);
      pair.broadcast(std::span{&answer, 1}, 1, whole);
      shortest[i] = std::min<Duration>(shortest[i], Clock::now() - begin);
    }
    is_slow = shortest[1] - shortest[0] > kLongProbe;
  }
  if (pair.rank() != 0) return NetworkSpeed::unknown;
  return speed_between(shortest[0], shortest[1]);
}

Tariff memory_tariff(int shared_cores, std::size_t buffered_bytes) {
  if (shared_cores > 0) {
    LinkCosts costs = kCrowdedCosts;
    costs.shared_cores = shared_cores;
    costs.buffered_bytes = static_cast<std::int64_t>(buffered_bytes);
    LinkCosts visible = kCrowdedVisibleCosts;
    visible.shared_cores = shared_cores;
    visible.buffered_bytes = std::min(costs.buffered_bytes, kBufferedVisible);
    return {.costs = costs,
            .origin = "assumed of shared memory and " + std::to_string(shared_cores) +
                      (shared_cores == 1 ? " core" : " cores") + " for all ranks",
            .visible = visible,
            .lasting = kDefaultCosts};  // another run may have more cores
  }
  LinkCosts costs = kDefaultCosts;
  costs.half_duplex = true;
  costs.gamma = 12'500;  // what is read is reduced at once, while a cache has it
  return {.costs = costs,
          .origin = "assumed of shared memory",
          .visible = kVisibleCosts,
          .lasting = kDefaultCosts};
}

Tariff loopback_tariff(int shared_cores) {
  LinkCosts costs{.alpha = 10'000'000'000, .beta = 400'000, .gamma = 20'000};
  if (shared_cores == 0) return {costs, "assumed of the loopback"};
  const LinkCosts lasting = costs;  // another run may have more cores
  costs = {.alpha = 7'600'000'000,
           .beta = 480'000,
           .gamma = 1'000,
           .half_duplex = true,
           .shared_cores = shared_cores};
  return {.costs = costs, .origin = "assumed of the loopback", .lasting = lasting};
}

Tariff network_tariff(NetworkSpeed speed) {
  // What every run charges, whatever it measures: the speed that is assumed where there is no time.
  constexpr LinkCosts kLasting = costs_at(1000);
  const auto measured = [&](std::int64_t megabits, const char* origin) {
    return Tariff{.costs = costs_at(megabits), .origin = origin, .lasting = kLasting};
  };
  switch (speed) {
    case NetworkSpeed::megabits_100: return measured(100, "measured: 100 Mbit/s between hosts");
    case NetworkSpeed::gigabit_1: return measured(1000, "measured: 1 Gbit/s between hosts");
    case NetworkSpeed::gigabits_10:
      return measured(10000, "measured: 10 Gbit/s or more between hosts");
    case NetworkSpeed::unknown: break;
  }
  return measured(1000, "assumed: 1 Gbit/s between hosts, which there was no time to measure");
}

Tariff network_tariff(int megabits) {
  return {costs_at(megabits), "as told: " + std::to_string(megabits) + " Mbit/s between hosts"};
}

}  // namespace tutti::runtime
