/// @file
/// Configuration: the one place where the environment of the process is read, and what our own
/// variables in it say.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::runtime {

/// The variables of a process, by name. A value: tests make their own.
using Environment = std::map<std::string, std::string, std::less<>>;

/// @return the variables of this process, as they stand now. The only function of the project that
/// looks at them.
[[nodiscard]] Environment process_environment();

/// What our own variables say, all of which are optional. Nothing else of ours is read from the
/// environment but TUTTI_TUNING and TUTTI_TOPOLOGY, see find_tuning and find_topology.
struct Config {
  std::optional<Rank> rank{};       ///< TUTTI_RANK: the own rank, together with TUTTI_SIZE.
  std::optional<int> size{};        ///< TUTTI_SIZE: the number of ranks.
  std::optional<int> local_rank{};  ///< TUTTI_LOCAL_RANK: the own rank among those of its host.
  std::optional<int> local_size{};  ///< TUTTI_LOCAL_SIZE: the number of ranks on the own host.
  std::string url{};  ///< TUTTI_URL: where the ranks meet: tcp://host:port, file:///path.
  std::vector<std::string> hosts{};  ///< TUTTI_HOSTS: the hosts of all ranks, as "a*2,b*2".
  std::string secret_file{};         ///< TUTTI_SECRET_FILE: holds the job's secret; mode 0600.
  std::string address{};  ///< TUTTI_ADDRESS: the own address, at which others reach this rank.
  std::optional<std::chrono::nanoseconds>
      timeout{};  ///< TUTTI_TIMEOUT: seconds until a world must stand.
};

/// Ranks of a world at the most; what is above it is a mistake.
inline constexpr int kLargestWorld = 1 << 20;

/// @param environment any. @return what our variables say. Throws Error{invalid_argument} that
/// names the variable, its value and what would be right; also for a TUTTI_ variable that does not
/// exist.
[[nodiscard]] Config read_config(const Environment& environment);

/// @param environment any. @param name of a variable. @return its value, or nothing where it is
/// not set or empty: launchers clear variables by emptying them.
[[nodiscard]] std::optional<std::string_view> value_of(const Environment& environment,
                                                       std::string_view name);

/// @param environment any. @param name of a variable. @param least what it may be at least.
/// @param most what it may be at most. @return its value, or nothing where it is not set. Throws
/// Error{invalid_argument} that names the variable, its value and what would be right.
[[nodiscard]] std::optional<int> number_of(const Environment& environment, std::string_view name,
                                           int least, int most = std::numeric_limits<int>::max());

/// @param environment any. @param name of a variable. @return its value, or nothing where it is not
/// set. Throws Error{invalid_argument} as number_of.
[[nodiscard]] std::optional<std::uint32_t> number_of_32_bits(const Environment& environment,
                                                             std::string_view name);

}  // namespace tutti::runtime
