#include "cost_models.hpp"

#include <algorithm>
#include <string>

namespace tutti::v0::detail {
namespace {

// Longer messages from visible memory are reduced in place.
constexpr std::int64_t kBufferedVisible = 8192;

/// Costs of one connection between hosts, with this many megabits per second.
constexpr LinkCosts costs_at(std::int64_t megabits) noexcept {
  return {
      .alpha = 25'000'000'000, .beta = 8'000'000'000 / megabits, .gamma = 50'000, .overlaps = true};
}

}  // namespace

CostModel memory_costs(int shared_cores, std::size_t buffered_bytes) {
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
  costs.gamma = 12'500;  // received bytes are reduced at once, while they are in a cache
  return {.costs = costs,
          .origin = "assumed of shared memory",
          .visible = kVisibleCosts,
          .lasting = kDefaultCosts};
}

CostModel loopback_costs(int shared_cores) {
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

CostModel network_costs(NetworkSpeed speed) {
  // Costs that are equal in every run: those of the speed that is assumed without a measurement.
  constexpr LinkCosts kLasting = costs_at(1000);
  const auto measured = [&](std::int64_t megabits, const char* origin) {
    return CostModel{.costs = costs_at(megabits), .origin = origin, .lasting = kLasting};
  };
  switch (speed) {
    case NetworkSpeed::megabits_100: return measured(100, "measured: 100 Mbit/s between hosts");
    case NetworkSpeed::gigabit_1: return measured(1000, "measured: 1 Gbit/s between hosts");
    case NetworkSpeed::gigabits_10:
      return measured(10000, "measured: 10 Gbit/s or more between hosts");
    case NetworkSpeed::unknown: break;
  }
  return measured(1000, "assumed: 1 Gbit/s between hosts, since the start left no time to measure");
}

CostModel network_costs(int megabits) {
  return {costs_at(megabits),
          "as configured: " + std::to_string(megabits) + " Mbit/s between hosts"};
}

}  // namespace tutti::v0::detail
