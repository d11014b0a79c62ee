/// @file
/// Placement: which host each rank is on, as launchers write it. It only ever serves to say where a
/// rank is missing, so nobody need be right who tells it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::runtime {

/// @param hosts by rank. @return them as TUTTI_HOSTS has them: "a*2,b" for a, a, b.
[[nodiscard]] std::string text_of_placement(const std::vector<std::string>& hosts);
/// @param text as TUTTI_HOSTS has it. @return the hosts by rank. Throws Error{invalid_argument}
/// that says how it is written.
[[nodiscard]] std::vector<std::string> placement_of_text(std::string_view text);

/// @param list of hosts as Slurm writes them, such as "a[1-3,7],b". @param most as many are wanted.
/// @return the first of them, in their order. Throws Error{invalid_argument} where it cannot be
/// read.
[[nodiscard]] std::vector<std::string> slurm_hosts(std::string_view list, std::size_t most);

/// How Slurm has dealt out the tasks of a step.
struct SlurmTasks {
  std::string_view hosts{};         ///< Such as "a[1-3,7]".
  std::string_view counts{};        ///< Of tasks by host, such as "2(x3),1".
  std::string_view distribution{};  ///< Such as "cyclic:block"; empty: in blocks.
};
/// @param tasks of a step. @param size of the world. @return the hosts by rank; empty where that
/// cannot be told: tasks are dealt out otherwise than in blocks or cyclically, or are not so many.
[[nodiscard]] std::vector<std::string> slurm_placement(const SlurmTasks& tasks, int size);

}  // namespace tutti::runtime
