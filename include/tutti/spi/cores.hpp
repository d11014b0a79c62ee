/// @file
/// The processors that ranks may use, and their places in the host.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// The processors of a process.
struct Cores {
  std::array<std::uint64_t, 16> usable{};  ///< A bit per processor that it may run on.
  /// Quota of its control group in processors, rounded up, as containers often have; 0: no limit.
  std::uint64_t quota = 0;
  std::uint64_t group = 0;  ///< The control group with the quota.
};

/// The place of a rank in its host, by its processors or its GPU. -1: unknown.
struct Locality {
  /// Package (socket) that the process is bound to, by hwloc's number; -1 also if its processors
  /// are in several packages.
  std::int32_t package = -1;
  std::int32_t cache = -1;   ///< Last-level cache that the process is bound to.
  std::int32_t island = -1;  ///< Island of its GPU: the GPUs of that host that NVLink joins.
  std::int32_t rail = -1;    ///< Rail of its GPU: one network of several.
  /// Equality of all members.
  friend bool operator==(const Locality&, const Locality&) = default;
};

/// @param root of the system's files; tests pass another one. @return the processors of this
/// process.
[[nodiscard]] TUTTI_API Cores usable_cores(const std::filesystem::path& root = "/");

/// @return the number of cores that ranks share, if the ranks outnumber the union of their
/// processors; then a rank that spins stops another. 0: there is a core for every rank. Launchers
/// may bind each rank to cores of its own, so only the union counts.
/// @param machine the processors of each rank of one machine. @param own those of the asking rank.
[[nodiscard]] TUTTI_API int shared_cores(std::span<const Cores> machine, const Cores& own);

}  // namespace tutti::v0
