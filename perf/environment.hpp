/// @file
/// The launch of this process, and its environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tutti::perf {

/// @return the rank from the launcher's variables; nothing without a launcher.
[[nodiscard]] std::optional<int> launched_rank();

/// @return the number of ranks from the launcher's variables; nothing without a launcher.
[[nodiscard]] std::optional<int> launched_size();

/// @return the launcher whose variables are set: "Open MPI", "Hydra", "Slurm" and others, or empty.
[[nodiscard]] std::string launcher_name();

/// @return whether a launcher of an MPI started this process.
[[nodiscard]] bool is_mpi_launch();

/// @return the program of this process and its arguments.
[[nodiscard]] std::vector<std::string> own_command();

/// @return the variables that configure MPIs, networks and tutti. It is an allow-list, since
/// environments contain secrets.
[[nodiscard]] std::map<std::string, std::string> recorded_environment();

}  // namespace tutti::perf
