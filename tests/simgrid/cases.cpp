#include "cases.hpp"

#include <array>

#include <tutti/spi/contract.hpp>

namespace tutti::v0 {

std::span<const char* const> simgrid_networks() noexcept {
  static constexpr std::array kNetworks{"switch:16", "torus:4x4", "fat_tree:4x4:up=1x2",
                                        "dragonfly:2x4x1:groups=3", "slim_fly:3"};
  return kNetworks;
}

std::vector<Choice> simgrid_choices(int ranks) {
  std::vector<Choice> choices;
  for (const Algorithm& row : catalog())
    if (has_default(row.parameter) && admits(row.traits.sizes, ranks))
      choices.push_back({.algorithm = &row, .number = row.default_number});
  return choices;
}

SimgridOutcome compare(const SimgridCase& wanted, const Topology& topology, LatencyModel latency) {
  const int ranks = topology.hosts();
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < ranks; ++rank)
    schedules.push_back(wanted.choice.build(ranks, 0, rank));
  const std::size_t count = Contract{wanted.choice.algorithm->collective, ranks, 0}.blocks();
  std::vector<std::size_t> blocks(count, wanted.bytes / count);
  for (std::size_t block = 0; block < wanted.bytes % count; ++block) ++blocks[block];
  return {
      .tutti = simulate(schedules, blocks, 1, topology, Routing::fixed, wanted.costs).nanoseconds,
      .simgrid = time_on_simgrid(schedules, blocks, topology, wanted.costs, latency)};
}

}  // namespace tutti::v0
