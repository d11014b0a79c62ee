/// @file
/// Launch: the launcher of this process, its rank, and the first means of exchange between ranks.
/// Pure functions of an environment, so that tests need no launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/types.hpp>

#include "config.hpp"

namespace tutti::runtime {

/// The means by which ranks exchange data before they are connected.
enum class Exchange : std::uint8_t {
  none,  ///< There is one rank.
  url,   ///< Launch::url: a TCP port, a Unix socket or a folder; empty: unknown.
  pmi,   ///< PMI-1 on the descriptor of Hydra.
  pmix,  ///< PMIx, through its library.
  mpi,   ///< Only the launcher's MPI.
};

[[nodiscard]] std::string_view name_of(Exchange exchange) noexcept;

/// The forms of URLs at which ranks can meet.
inline constexpr std::string_view kMeetingPlaces = "tcp://host:port, unix://name or file:///path";
/// @return whether a URL has one of these forms.
[[nodiscard]] bool is_meeting_place(std::string_view url) noexcept;

/// Whether the variables of a launcher can be used.
enum class LaunchStatus : std::uint8_t {
  usable,      ///< Complete and valid.
  fallback,    ///< The launcher is known by its variables only: used if there is no other launch.
  outer,       ///< The variables of an outer launcher or a script: not used.
  incomplete,  ///< Variables are missing: an error if no other launch is usable.
  invalid,     ///< Impossible values: always an error.
};

/// A launch of this process, as one launcher's variables describe it. A number of -1 is unknown.
struct Launch {
  std::string source{};  ///< The launcher: "torchrun", "Open MPI", "Slurm", ...
  Rank rank = -1;
  int size = -1;                       ///< The number of ranks; PMIx has it later.
  int local_rank = -1;                 ///< The rank among those of this host.
  int local_size = -1;                 ///< The number of ranks on this host.
  Exchange exchange = Exchange::none;  ///< The first means of exchange.
  std::string url{};                   ///< The meeting place, for Exchange::url.
  int descriptor = -1;                 ///< The socket to the launcher, for Exchange::pmi.
  std::string job{};                   ///< The launcher's name of the job, or empty.
  LaunchStatus status = LaunchStatus::usable;
  std::string remark{};  ///< Why it is not usable, or other information.
  /// The variables that are set of those with its numbers.
  std::vector<std::string> variables{};
  /// The host of each rank, by the launcher's names; empty: unknown.
  std::vector<std::string> hosts{};
};

/// The caller's values, which override those of launchers.
struct LaunchArguments {
  std::string url{};           ///< The meeting place; empty: the launcher's.
  std::optional<Rank> rank{};  ///< Set together with size.
  std::optional<int> size{};   ///< Set together with rank.
};

/// @return a launch for each launcher whose variables are set, in order of precedence. Invalid
/// values do not throw: see LaunchStatus.
[[nodiscard]] std::vector<Launch> detect_launches(const Environment& environment);

/// Decides which launch is used. Order of precedence: the arguments; TUTTI_RANK; torchrun; Open
/// MPI; PMIx; Hydra; MVAPICH; Slurm inside a step; a launcher that tutti knows by its variables
/// only; alone. Throws Error{invalid_argument} that contains the variable and the right values, or
/// a table of all launches if they disagree; also if a launcher's variables lack the rank or the
/// number of ranks, since such a process may not be alone.
[[nodiscard]] Launch detect_launch(const Environment& environment,
                                   const LaunchArguments& arguments = {});

/// @return the variables that are set and from which detect_launch reads the own rank, or which it
/// accepts beside a rank only: without them the process is alone.
[[nodiscard]] std::vector<std::string> rank_variables(const Environment& environment);

/// @return a table of launches, one line each, below a line of headings.
[[nodiscard]] std::string table_of(const std::vector<Launch>& launches);

/// @return whether a launcher uses a variable to pass a process its rank or the number of ranks. A
/// launcher inside another one removes these variables from the environment of its processes.
[[nodiscard]] bool is_launch_variable(std::string_view name) noexcept;

}  // namespace tutti::runtime
