/// @file
/// What a choice costs on a network, for all lengths at once: links shared by what is sent in the
/// same round, latencies, what ranks do themselves. Quicker than simulate(), which follows each
/// message, and as exact where rounds keep step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <tutti/spi/algorithm.hpp>

#include "link_loads.hpp"
#include "simulate.hpp"

namespace tutti::v0 {

/// Ranks, how messages get from one to another, and what they take.
struct RankNetwork {
  Topology topology;                 ///< Its host r is rank r; it may have more hosts than ranks.
  Routing routing = Routing::fixed;  ///< How messages get there.
  EndpointCosts endpoints = topology.endpoints();  ///< What ranks take themselves.
  /// What has been found out about it. Copies share it.
  std::shared_ptr<NetworkMemory> memory = std::make_shared<NetworkMemory>();
};

/// What time goes by with.
struct NetworkTerms {
  Femtoseconds latency = 0;     ///< Messages under way.
  Femtoseconds messages = 0;    ///< Handing them over.
  Femtoseconds bytes = 0;       ///< The fullest links.
  Femtoseconds reductions = 0;  ///< Reducing.
  /// @return the sum.
  [[nodiscard]] Femtoseconds total() const noexcept;
  /// Equality of all members.
  friend bool operator==(const NetworkTerms&, const NetworkTerms&) = default;
};

/// The cost of a choice on a network, as sizes in units.
struct NetworkProfile {
  /// What follows each other: on a path through the data flow, or at one rank.
  struct Sum {
    Femtoseconds messages = 0;  ///< Handing them over, and what they occupy links for.
    Femtoseconds latency = 0;   ///< Of links.
    Femtoseconds bytes = 0;     ///< Of the fullest link of each round, if a unit is a byte.
    std::int64_t reduced = 0;   ///< Units reduced.
    /// Equality of all members.
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  std::uint32_t units = 1;    ///< Of the whole vector.
  Sum path{};                 ///< The longest path, each member by itself.
  Sum busiest{};              ///< The most at one rank, or on one link.
  EndpointCosts endpoints{};  ///< What ranks take themselves.

  /// @param bytes of the whole vector, as Profile::time. @param segment_bytes likewise.
  /// @return what the time is made of: the first segment goes all the way, and the others follow
  /// it as fast as the busiest rank or link gets rid of them.
  [[nodiscard]] NetworkTerms time(std::size_t bytes, std::size_t segment_bytes) const noexcept;
};

/// The most steps of all ranks that are built for a profile: 256 MiB of them.
inline constexpr std::size_t kMostSteps = std::size_t{1} << 24;
/// The most messages whose ways are followed for a profile.
inline constexpr std::int64_t kMostMessages = std::int64_t{1} << 25;

/// Profiles a choice. Messages of one round share links evenly, those of different rounds do not
/// meet; but no time is less than what the fullest link carries in all takes. Of rotational
/// algorithms each round takes as long as it does where it takes longest.
/// @param choice the algorithm with its parameters. @param size number of ranks.
/// @param root the root, 0 where there is none. @param network with that many hosts at least.
/// @return the profile. Throws what the generator throws, and Error{invalid_argument} where the
/// network has fewer hosts than ranks, or where it would take too long: where schedules of all
/// ranks have to be built that have more than kMostSteps steps together, or messages of more than
/// kMostMessages have to be followed. Complexity: of rotational algorithms a way for
/// each rank and each distance that the network has not been asked for, and at a single switch
/// none; of others one for each message.
[[nodiscard]] NetworkProfile profile_on(const Choice& choice, int size, Rank root,
                                        const RankNetwork& network);

}  // namespace tutti::v0
