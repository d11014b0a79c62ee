/// @file
/// What the command wants to know of its environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tutti::perf {

/// @return the own rank by the launcher's variables, or nothing without a launcher.
[[nodiscard]] std::optional<int> launched_rank();

/// @return the number of ranks by the launcher's variables, or nothing.
[[nodiscard]] std::optional<int> launched_size();

/// @return the launcher whose variables are set: "Open MPI", "Hydra", "Slurm" and others, or empty.
[[nodiscard]] std::string launcher_name();

/// @return whether a launcher of an MPI started this process.
[[nodiscard]] bool is_mpi_launch();

/// @return the program of this process and its arguments.
[[nodiscard]] std::vector<std::string> own_command();

/// @return the variables that steer MPIs, networks and tutti. An allow-list: whole environments
/// hold secrets.
[[nodiscard]] std::map<std::string, std::string> recorded_environment();

}  // namespace tutti::perf
