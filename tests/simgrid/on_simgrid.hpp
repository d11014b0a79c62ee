/// @file
/// Collectives on networks, timed by SimGrid instead of by tutti's own simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tutti/spi/schedule.hpp>

#include "selector/simulate.hpp"
#include "topology/topology.hpp"

namespace tutti::v0 {

/// When a message's latency passes.
enum class LatencyModel : std::uint8_t {
  behind,  ///< After its bytes, as in simulate(); the sender does not wait for it. SimGrid shares
           ///< links max-min fairly.
  native   ///< As SimGrid does it by itself: before the bytes, the sender waits for both, and
           ///< messages that share a link get less of it the longer their latency is.
};

/// Times schedules by SimGrid, on routing `fixed`. Shared with simulate() are the ways through the
/// network, the bytes of steps and what rounds touch; clock, rates, order and waiting are
/// SimGrid's. It runs in a child process, since a process has one simulation of SimGrid's only.
/// Parameters as of simulate(). @param latency when it passes. @return nanoseconds until the last
/// rank is done. Throws std::runtime_error where the child ends without an answer, as in a
/// deadlock.
[[nodiscard]] double time_on_simgrid(std::span<const Schedule> schedules,
                                     std::span<const std::size_t> block_bytes,
                                     const Topology& topology, const EndpointCosts& costs,
                                     LatencyModel latency);

}  // namespace tutti::v0
