/// @file
/// Simulates a collective on a network, message by message.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/spi/costs.hpp>
#include <tutti/spi/schedule.hpp>

#include "topology/routes.hpp"
#include "topology/topology.hpp"

namespace tutti::v0 {

/// The segments of a vector. Each is the same fraction of every block.
struct Segments {
  std::size_t count = 1;  ///< Number of segments.
  int in_flight = 4;      ///< Segments that a rank has under way, as CommunicatorOptions.
};

/// The results of a run.
struct Simulated {
  double nanoseconds = 0;         ///< Until the last rank is done.
  std::size_t messages = 0;       ///< Number of messages.
  double bytes = 0;               ///< The sum over all messages.
  std::vector<double> carried{};  ///< Bytes by channel, see Routes::channels.
};

/// Runs schedules on a network. A rank hands over its messages one after the other; those to one
/// peer leave one after the other. Messages share the links of their paths max-min fairly, arrive
/// after the latency of these links, and are reduced one after the other. A round starts when the
/// earlier rounds that use the same slots have ended (all of them if the schedule is paced). Its
/// sends end when they have left, its receives when they are reduced. A rank begins segment s when
/// its segment s - in_flight is done. Throws Error{invalid_argument} if there are more ranks than
/// hosts, if ranks cut the vector differently, or if a receive has no send.
/// @param schedules of all ranks; rank r is on host r. @param block_bytes as predict_exact.
/// @param element_bytes as predict_exact. @param costs at the ranks.
[[nodiscard]] Simulated simulate(std::span<const Schedule> schedules,
                                 std::span<const std::size_t> block_bytes,
                                 std::size_t element_bytes, const Topology& topology,
                                 Routing routing = Routing::fixed, const EndpointCosts& costs = {},
                                 const Segments& segments = {});

}  // namespace tutti::v0
