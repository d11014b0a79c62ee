/// @file
/// Which ranks share a host.
#pragma once

#include <tutti/communicator.hpp>

namespace tutti::inline v0::detail {

/// Collective. Ranks are on one host where name and boot of the system are equal. @param world its
/// ranks. @param timeout as of Options. @return the lowest rank that is on the host of the own one.
/// Throws Error.
Rank first_rank_of_host(Communicator& world, Duration timeout);

}  // namespace tutti::inline v0::detail
