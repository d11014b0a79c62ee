/// @file
/// What a collective takes on a network, message by message.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/spi/costs.hpp>
#include <tutti/spi/schedule.hpp>

#include "topology/routes.hpp"
#include "topology/topology.hpp"

namespace tutti::v0 {

/// How a vector travels: in segments, each the same fraction of every block.
struct Segments {
  std::size_t count = 1;  ///< How many there are.
  int in_flight = 4;      ///< How many a rank has under way, as CommunicatorOptions.
};

/// What a run was like.
struct Simulated {
  double nanoseconds = 0;         ///< Until the last rank is done.
  std::size_t messages = 0;       ///< That were sent.
  double bytes = 0;               ///< That they had together.
  std::vector<double> carried{};  ///< Bytes by channel, see Routes::channels.
};

/// Runs schedules on a network: a rank hands its messages over one after the other, those to one
/// peer leave one after the other, they share the links of their paths max-min fairly, arrive after
/// the latency of these, and are reduced one after the other. A round starts when the earlier ones
/// have ended that touch what it touches, or all, of a paced schedule; its sends end when they have
/// left, its receives when they are reduced. A rank begins a segment when the one that was as many
/// before it as may be under way is done there. Throws Error{invalid_argument} where there are more
/// ranks than hosts, ranks that cut the vector differently, or a receive has no send.
/// @param schedules of all ranks; rank r sits on host r. @param block_bytes of each block, as
/// predict_exact. @param element_bytes likewise. @param topology of at least as many hosts.
/// @param routing how paths are chosen. @param costs of ranks. @param segments of the vector.
/// @return what it was like.
[[nodiscard]] Simulated simulate(std::span<const Schedule> schedules,
                                 std::span<const std::size_t> block_bytes,
                                 std::size_t element_bytes, const Topology& topology,
                                 Routing routing = Routing::fixed, const EndpointCosts& costs = {},
                                 const Segments& segments = {});

}  // namespace tutti::v0
