/// @file
/// The ranks of one host.
#pragma once

#include <tutti/communicator.hpp>

namespace tutti::v0::detail {

/// Collective. Ranks are on one host if name and boot of their systems are equal.
/// @param timeout as of Options. @return the lowest rank on the host of the own one. Throws Error.
[[nodiscard]] Rank first_rank_of_host(Communicator& world, Duration timeout);

}  // namespace tutti::v0::detail
