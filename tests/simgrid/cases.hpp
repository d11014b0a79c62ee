/// @file
/// The cases for both simulators: networks, algorithms and sizes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "on_simgrid.hpp"
#include "selector/simulate.hpp"
#include "topology/topology.hpp"

namespace tutti::v0 {

/// An algorithm on a network.
struct SimgridCase {
  Choice choice{};        ///< The algorithm.
  std::size_t bytes = 0;  ///< Bytes of the whole vector, as in `tutti simulate --bytes`.
  EndpointCosts costs{};  ///< Costs of the ranks.
};

/// Both simulators' answers.
struct SimgridOutcome {
  double tutti = 0;    ///< Nanoseconds of simulate().
  double simgrid = 0;  ///< Nanoseconds of SimGrid.
  /// @return how much longer tutti's time is, in percent of SimGrid's.
  [[nodiscard]] double percent() const noexcept { return 100 * (tutti / simgrid - 1); }
};

/// @return networks as parse_topology reads them: one without and four with shared links.
[[nodiscard]] std::span<const char* const> simgrid_networks() noexcept;
/// @return every row of tutti's catalog that serves this number of ranks, with its default
/// parameter.
[[nodiscard]] std::vector<Choice> simgrid_choices(int ranks);
/// Asks both. @param wanted what. @param topology each of its hosts has a rank. @param latency when
/// it passes in SimGrid. @return what they say.
[[nodiscard]] SimgridOutcome compare(const SimgridCase& wanted, const Topology& topology,
                                     LatencyModel latency);

}  // namespace tutti::v0
