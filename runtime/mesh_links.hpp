/// @file
/// The part of connect_mesh that connects, when it is known who is where.
#pragma once

#include <vector>

#include "door.hpp"
#include "mesh.hpp"

namespace tutti::runtime {

/// Data connections between two ranks, at most.
inline constexpr int kMostDataConnections = 64;

/// What every rank knows of every rank.
struct MeshPlan {
  Party self{};                       ///< Who this is.
  int memory = -1;                    ///< Own shared memory to lend.
  std::vector<Card> cards{};          ///< One per rank.
  std::vector<Endpoint> addresses{};  ///< Where each listens for TCP.
  std::vector<std::string> names{};   ///< Where each listens for Unix.
};

/// Connects to the lower ranks and is connected to by the higher ones.
/// @param plan who is where. @param listeners own, listening; closed on return.
/// @param deadline at which to give up. @return a link per other rank. Throws Error.
[[nodiscard]] std::vector<Link> connect_links(const MeshPlan& plan, std::vector<Listener> listeners,
                                              Deadline deadline);

}  // namespace tutti::runtime
