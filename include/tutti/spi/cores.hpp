/// @file
/// How many of a machine's processors ranks may use, and where these are.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// What a process may use of its machine.
struct Cores {
  std::array<std::uint64_t, 16> usable{};  ///< A bit per processor that it may run on.
  /// For how many processors' time its control group has a quota, rounded up, as containers often
  /// have; 0: without limit.
  std::uint64_t quota = 0;
  std::uint64_t group = 0;  ///< Which control group has the quota.
};

/// In which part of a host a rank is: its processors, or its GPU. -1 where nobody knows.
struct Locality {
  /// Which package (socket) the process is bound to, as hwloc counts them on that host; -1 also
  /// where its processors are not all in one.
  std::int32_t package = -1;
  std::int32_t cache = -1;   ///< Behind which last-level cache, likewise.
  std::int32_t island = -1;  ///< Among which GPUs of that host, joined by NVLink, its GPU is.
  std::int32_t rail = -1;    ///< Which rail, one network of several, its GPU is on.
  /// Equality of all members.
  friend bool operator==(const Locality&, const Locality&) = default;
};

/// @param root where the system's files are; tests pretend. @return what this process may use.
[[nodiscard]] TUTTI_API Cores usable_cores(const std::filesystem::path& root = "/");

/// How many cores ranks share, if they outnumber those that they may use together: then one that
/// spins keeps another from working. Launchers may bind each to cores of its own: what counts is
/// the union.
/// @param machine what each rank of one machine may use. @param own what one of them may.
/// @return the number, as that one sees it; 0 where there is a core for every rank.
[[nodiscard]] TUTTI_API int shared_cores(std::span<const Cores> machine, const Cores& own);

}  // namespace tutti::v0
