/// @file
/// Launch: who started this process, which rank it is, and by what means the ranks can first speak.
/// Pure functions of an environment, so that every launcher can be tested without being there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/types.hpp>

#include "runtime/config.hpp"

namespace tutti::runtime {

/// By what means the ranks of a launch exchange their first words.
enum class Exchange : std::uint8_t {
  none,  ///< There is one rank: nothing to exchange.
  url,   ///< Launch::url: a TCP port, a Unix socket or a folder; empty where none is told.
  pmi,   ///< PMI-1 on the descriptor of Hydra.
  pmix,  ///< PMIx, by its library.
  mpi,   ///< Only the launcher's MPI can.
};

/// @param exchange any. @return what it is, for a person.
[[nodiscard]] std::string_view name_of(Exchange exchange) noexcept;

/// How the places where ranks can meet are written.
inline constexpr std::string_view kMeetingPlaces = "tcp://host:port, unix://name or file:///path";
/// @param url any. @return whether it is such a place.
[[nodiscard]] bool is_meeting_place(std::string_view url) noexcept;

/// What an account of a launch is worth.
enum class Standing : std::uint8_t {
  usable,    ///< Complete and sound.
  fallback,  ///< Of a launcher that tutti knows by its variables only: counts where no other does.
  around,    ///< A launcher around this one, or a script's own variables: not counted.
  incomplete,  ///< Variables are missing: an error where no other account is usable.
  wrong,       ///< Values that cannot be: always an error.
};

/// One account of how this process was launched. Numbers are -1 where it does not tell.
struct Launch {
  std::string source{};                  ///< Whose account: "torchrun", "Open MPI", "Slurm", ...
  Rank rank = -1;                        ///< The own rank.
  int size = -1;                         ///< The number of ranks; PMIx tells it later.
  int local_rank = -1;                   ///< The own rank among those of this host.
  int local_size = -1;                   ///< The number of ranks on this host.
  Exchange exchange = Exchange::none;    ///< How the ranks can first speak.
  std::string url{};                     ///< Where they meet, for Exchange::url.
  int descriptor = -1;                   ///< The socket to the launcher, for Exchange::pmi.
  std::string job{};                     ///< The launcher's name of the job, or empty.
  Standing standing = Standing::usable;  ///< What this account is worth.
  std::string remark{};                  ///< Why it is not usable, or what is worth knowing.
  /// The host of each rank as the launcher calls it; empty where it does not tell.
  std::vector<std::string> hosts{};
};

/// What the caller says, which stands above all that launchers say.
struct LaunchArguments {
  std::string url{};           ///< Where the ranks meet; empty: as launched.
  std::optional<Rank> rank{};  ///< The own rank; with size.
  std::optional<int> size{};   ///< The number of ranks; with rank.
};

/// @param environment any. @return an account per launcher that left variables, the most trusted
/// first. Never throws for what stands in the variables.
[[nodiscard]] std::vector<Launch> launch_accounts(const Environment& environment);

/// Decides how this process was launched: the arguments; TUTTI_RANK; torchrun; Open MPI; PMIx;
/// Hydra; MVAPICH; Slurm inside a step; a launcher that tutti knows by its variables only; alone.
/// @param environment any. @param arguments the caller's. @return the launch; its exchange serves.
/// Throws Error{invalid_argument} that names the variable and what would be right, or prints a
/// table of all accounts where they disagree; also where a launcher left variables that do not tell
/// both the rank and the number of ranks, since such a process may not be alone.
[[nodiscard]] Launch detect_launch(const Environment& environment,
                                   const LaunchArguments& arguments = {});

/// @param accounts any. @return a table of them, a line each, under a line of headings.
[[nodiscard]] std::string table_of(const std::vector<Launch>& accounts);

/// @param name of a variable. @return whether a launcher tells its processes their place by it. A
/// launcher inside another one takes these away from its own processes.
[[nodiscard]] bool is_launch_variable(std::string_view name) noexcept;

}  // namespace tutti::runtime
