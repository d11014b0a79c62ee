/// @file
/// The cost of a choice on a network, for all lengths at once: links that messages of a round
/// share, latencies, and the work of ranks. Quicker than simulate(), which follows each message,
/// and as exact if all ranks run the rounds in step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <tutti/spi/algorithm.hpp>

#include "link_loads.hpp"
#include "simulate.hpp"

namespace tutti::v0 {

/// A network of ranks, its routing, and the costs at the ranks.
struct RankNetwork {
  Topology topology;                 ///< Host r is rank r; there may be more hosts than ranks.
  Routing routing = Routing::fixed;  ///< How paths are chosen.
  EndpointCosts endpoints = topology.endpoints();  ///< Costs at the ranks.
  /// Cached facts of the network. Copies share them.
  std::shared_ptr<NetworkMemory> memory = std::make_shared<NetworkMemory>();
};

/// The terms of a predicted time.
struct NetworkTerms {
  Femtoseconds latency = 0;     ///< Latency of links.
  Femtoseconds messages = 0;    ///< Time per message, of senders and links.
  Femtoseconds bytes = 0;       ///< Bytes on the fullest links.
  Femtoseconds reductions = 0;  ///< Reductions.
  /// @return the sum.
  [[nodiscard]] Femtoseconds total() const noexcept;
  /// Equality of all members.
  friend bool operator==(const NetworkTerms&, const NetworkTerms&) = default;
};

/// The cost of a choice on a network; sizes are in units.
struct NetworkProfile {
  /// Costs in sequence: along a path of the data flow, or at one rank.
  struct Sum {
    Femtoseconds messages = 0;  ///< Time per message, of senders and links.
    Femtoseconds latency = 0;   ///< Latency of the links.
    Femtoseconds bytes = 0;     ///< Time of the fullest link of each round, if a unit is a byte.
    std::int64_t reduced = 0;   ///< Units reduced.
    /// Equality of all members.
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  std::uint32_t units = 1;    ///< Units of the whole vector.
  Sum path{};                 ///< The longest path, for each member separately.
  Sum busiest{};              ///< The maximum at one rank, or on one link.
  EndpointCosts endpoints{};  ///< Costs at the ranks.

  /// Parameters as Profile::time. @return the terms of the time: the first segment takes the
  /// longest path, and the others follow as fast as the busiest rank or link lets them pass.
  [[nodiscard]] NetworkTerms time(std::size_t bytes, std::size_t segment_bytes) const noexcept;
};

/// The most steps of all ranks together that a profile builds: 256 MiB.
inline constexpr std::size_t kMostSteps = std::size_t{1} << 24;
/// The most messages that the profile of a rotational algorithm routes.
inline constexpr std::int64_t kMostMessages = std::int64_t{1} << 25;

/// Profiles a choice. Messages of one round share links evenly; those of different rounds do not
/// meet. No time is less than that of the fullest link for all rounds together. In a rotational
/// algorithm, each round is as slow for all ranks as for the slowest. @param size number of ranks.
/// @param root 0 if there is none. @param network with at least as many hosts. Throws what the
/// generator throws, and Error{invalid_argument} if the network has fewer hosts than ranks, or if
/// it would take too long: above kMostSteps steps or kMostMessages messages. Complexity: a
/// rotational algorithm takes a route for each rank and each distance that the network has not
/// cached, none at a single switch; other algorithms take one for each message.
[[nodiscard]] NetworkProfile profile_on(const Choice& choice, int size, Rank root,
                                        const RankNetwork& network);

}  // namespace tutti::v0
