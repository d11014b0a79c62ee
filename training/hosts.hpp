/// @file
/// The ranks of one host.
#pragma once

#include <tutti/communicator.hpp>

namespace tutti::v0::detail {

/// Collective. Ranks are on one host if name and boot of their systems are equal.
/// @param timeout as Options::timeout. @return the lowest rank on this rank's host. Throws Error.
[[nodiscard]] Rank first_rank_of_host(Communicator& world, Duration timeout);

}  // namespace tutti::v0::detail
