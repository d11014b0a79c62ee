/// @file
/// What the command reads from its environment. The only file of the command that does.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tutti::perf {

/// @return the own rank as the launcher's variables tell it, or nothing where there is no launcher.
[[nodiscard]] std::optional<int> launched_rank();

/// @return the number of ranks as the launcher's variables tell it, or nothing.
[[nodiscard]] std::optional<int> launched_size();

/// @return the launcher whose variables are set: "Open MPI", "Hydra", "Slurm", or empty.
[[nodiscard]] std::string launcher_name();

/// @return the variables that steer MPIs, networks and tutti. An allow-list: whole environments
/// hold secrets.
[[nodiscard]] std::map<std::string, std::string> recorded_environment();

}  // namespace tutti::perf
