/// @file
/// The caches and packages that the processors of this host share.
#pragma once

#include <cstdint>
#include <span>

#include <tutti/spi/cores.hpp>

#include "read.hpp"

namespace tutti::v0 {

/// @return whether this build has hwloc, which locality_of and machine_topology use.
[[nodiscard]] bool has_hwloc() noexcept;

/// @param usable a bit for each processor that a process may run on. @return their package and
/// last-level cache; -1 without hwloc, if they are unknown, or if there are several. Complexity:
/// some milliseconds in hwloc.
[[nodiscard]] Locality locality_of(std::span<const std::uint64_t> usable);

/// This host as a network: its cores are the hosts, linked to their last-level cache, caches to
/// their package, packages to the machine; levels with a single part are left out. The speeds are
/// assumed. Throws Error{invalid_argument} without hwloc, or if it finds nothing. @return the
/// network, with names such as "core 3".
[[nodiscard]] NamedTopology machine_topology();

/// @param level 0: from a core to its last-level cache, 1: to its package, 2: to the machine.
/// @return its assumed speed.
[[nodiscard]] LinkSpeed speed_of_level(int level) noexcept;

}  // namespace tutti::v0
