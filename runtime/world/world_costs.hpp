/// @file
/// The costs of messages between the hosts of a world: described by the user, stored with the
/// links, or measured.
#pragma once

#include <vector>

#include "runtime/links/rank_table.hpp"

#include "world.hpp"

namespace tutti::runtime {

/// The knowledge of the network before a measurement.
struct KnownNetwork {
  int megabits = 0;                            ///< As WorldOptions::network_megabits.
  NetworkSpeed speed = NetworkSpeed::unknown;  ///< In rank 0's links.
};

/// @param infos of all ranks. @return the speed of the network between rank 0 and the first rank of
/// another host, if it is stored in the links.
[[nodiscard]] NetworkSpeed known_speed(const ProcessLinks& links,
                                       const std::vector<PeerInfo>& infos,
                                       const std::shared_ptr<Network>& network);

/// Collective. Rank 0 measures unknown costs with the first rank of another host, and sends them to
/// all ranks, so that all choose alike. A failed measurement does not fail the start.
/// @param known equal on all ranks. @param deadline of the start. @return the costs between hosts,
/// one for each transport.
[[nodiscard]] std::vector<CostModel> remote_costs(World& world, const KnownNetwork& known,
                                                  Deadline deadline);

}  // namespace tutti::runtime
