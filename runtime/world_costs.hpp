/// @file
/// The costs of messages between the hosts of a world: described by the user, known to the links,
/// or measured.
#pragma once

#include <vector>

#include "rank_table.hpp"
#include "world.hpp"

namespace tutti::runtime {

/// What is known of the network before it is measured.
struct KnownNetwork {
  int megabits = 0;                            ///< As WorldOptions::network_megabits.
  NetworkSpeed speed = NetworkSpeed::unknown;  ///< As rank 0's links know it.
};

/// @param infos of all ranks. @param network as WorldOptions. @return the speed of the network
/// between rank 0 and the first rank of another host, as far as the links know it.
[[nodiscard]] NetworkSpeed known_speed(const Links& links, const std::vector<PeerInfo>& infos,
                                       const std::shared_ptr<Network>& network);

/// Collective. Rank 0 measures with the first rank of another host what is not known, and sends it
/// to all ranks, so that all choose alike. A failed measurement does not fail the start.
/// @param world whose communicators work. @param known equal on all ranks. @param deadline of the
/// start. @return the costs between hosts, one for each transport that connects them.
[[nodiscard]] std::vector<CostModel> remote_costs(World& world, const KnownNetwork& known,
                                                  Deadline deadline);

}  // namespace tutti::runtime
