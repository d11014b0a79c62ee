/// @file
/// Configuration: the one place that reads the environment of the process, and the values of
/// tutti's own variables.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::runtime {

/// The environment variables of a process, by name. A value, so that tests make their own.
using Environment = std::map<std::string, std::string, std::less<>>;

/// @return the current variables of this process. No other function of the project reads them.
[[nodiscard]] Environment process_environment();

/// @return the variables with which a process was started; none if they cannot be read.
[[nodiscard]] Environment initial_environment(::pid_t process);

/// The values of tutti's variables, all of them optional: see variables().
struct Config {
  std::optional<Rank> rank{};
  std::optional<int> size{};
  std::optional<int> local_rank{};
  std::optional<int> local_size{};
  std::string url{};
  std::vector<std::string> hosts{};
  std::string secret_file{};
  std::string address{};
  std::optional<std::chrono::nanoseconds> timeout{};
  std::string mpi_library{};
  std::string mpi{};         ///< Collectives that the drop-in serves, or "off".
  std::string mpi_native{};  ///< Calls that the MPI may run where it is faster: off, exact, or all.
  bool mpi_strict = false;
  bool report = false;
  std::string report_file{};  ///< The file for the drop-in's report.
  bool shared_heap = false;   ///< Whether the drop-in puts large blocks of malloc in shared memory.
  std::string tuning{};
  std::string topology{};
  /// Variables that begin with TUTTI_, and are neither tutti's nor known to be others'.
  std::vector<std::string> unknown{};
  /// Equality of all members.
  friend bool operator==(const Config&, const Config&) = default;
};

/// One of tutti's variables.
struct Variable {
  std::string_view name;
  std::string_view help;  ///< Its meaning, for tables.
  /// Stores a value, which is not empty. Throws Error{invalid_argument} that names the variable.
  void (*read)(std::string_view name, std::string_view value, Config& into);
};

/// @return all of tutti's variables.
[[nodiscard]] std::span<const Variable> variables() noexcept;

/// The most ranks of a world; a larger number is a mistake.
inline constexpr int kLargestWorld = 1 << 20;

/// Throws Error{invalid_argument} that contains the variable, its value and the right values, or
/// the right name for a misspelt one.
[[nodiscard]] Config read_config(const Environment& environment);

/// @return the value of a variable; nothing if it is not set or empty, since launchers clear
/// variables by emptying them.
[[nodiscard]] std::optional<std::string_view> value_of(const Environment& environment,
                                                       std::string_view name);

/// @return the value of a variable, or nothing if it is not set. Throws Error{invalid_argument}
/// that contains the variable, its value and the right values.
[[nodiscard]] std::optional<int> number_of(const Environment& environment, std::string_view name,
                                           int least, int most = std::numeric_limits<int>::max());

/// As number_of, for a number of 32 bits.
[[nodiscard]] std::optional<std::uint32_t> number_of_32_bits(const Environment& environment,
                                                             std::string_view name);

}  // namespace tutti::runtime
