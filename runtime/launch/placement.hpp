/// @file
/// Placement: the host of each rank, in the notation of launchers. It only helps to name the host
/// of a missing rank, so errors in it are harmless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::runtime {

/// @param hosts by rank. @return the value of TUTTI_HOSTS: "a*2,b" for a, a, b.
[[nodiscard]] std::string text_of_placement(const std::vector<std::string>& hosts);
/// @return the hosts by rank in a value of TUTTI_HOSTS. Throws Error{invalid_argument} that
/// contains the right notation.
[[nodiscard]] std::vector<std::string> placement_of_text(std::string_view text);

/// @param list such as "a[1-3,7],b", in Slurm's notation. @return the first `most` hosts, in their
/// order. Throws Error{invalid_argument} if it is malformed.
[[nodiscard]] std::vector<std::string> slurm_hosts(std::string_view list, std::size_t most);

/// The distribution of a step's tasks, as Slurm's variables describe it.
struct SlurmTasks {
  std::string_view hosts{};         ///< A list such as "a[1-3,7]".
  std::string_view counts{};        ///< The number of tasks on each host, such as "2(x3),1".
  std::string_view distribution{};  ///< Such as "cyclic:block"; empty: block.
};
/// @param size of the world. @return the hosts by rank; empty if they are unknown: the distribution
/// is neither block nor cyclic, or the numbers of tasks do not add up to `size`.
[[nodiscard]] std::vector<std::string> slurm_placement(const SlurmTasks& tasks, int size);

}  // namespace tutti::runtime
