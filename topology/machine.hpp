/// @file
/// What the processors of the own host share: last-level caches and packages.
#pragma once

#include <cstdint>
#include <span>

#include <tutti/spi/cores.hpp>

#include "read.hpp"

namespace tutti::v0 {

/// @return whether this build can tell: it was made with hwloc.
[[nodiscard]] bool knows_machines() noexcept;

/// @param usable a bit for each processor that a process may run on. @return where these are. Both
/// are -1 where hwloc is not built in, or knows nothing. Complexity: what hwloc takes to look
/// around, some milliseconds.
[[nodiscard]] Locality locality_of(std::span<const std::uint64_t> usable);

/// The own host as a network: its cores are the hosts, each behind its last-level cache, caches
/// behind their packages, packages behind the machine; levels of which there is only one part are
/// left out. Speeds of the levels are assumed. Throws Error{invalid_argument} where hwloc is not
/// built in or finds nothing. @return it, with names such as "core 3".
[[nodiscard]] NamedTopology machine_topology();

/// @param level 0: between a core and its last-level cache, 1: up to its package, 2: up to what
/// joins packages. @return what that is assumed to take.
[[nodiscard]] LinkSpeed speed_of_level(int level) noexcept;

}  // namespace tutti::v0
