/// @file
/// Configuration: the one place where the environment of the process is read, and what our own
/// variables in it say.
#pragma once

#include <array>
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

/// The values of our own variables, all of which are optional: see kVariables.
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
  std::string tuning{};
  std::string topology{};
};

/// One of our own variables.
struct Variable {
  std::string_view name;
  std::string_view help;  ///< Its meaning, for tables.
  /// Stores a value, which is not empty. Throws Error{invalid_argument} that names the variable.
  void (*read)(std::string_view name, std::string_view value, Config& into);
};

/// All of them: nothing else of ours is read from the environment.
extern const std::array<Variable, 11> kVariables;

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
