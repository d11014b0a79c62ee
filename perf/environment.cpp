#include "perf/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

namespace tutti::perf {

namespace {

// How a launcher tells a process its rank and the number of ranks.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
};

constexpr std::array kLaunchers{
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"Hydra", "PMI_RANK", "PMI_SIZE"},
    Launcher{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

constexpr std::array<std::string_view, 8> kRecorded{
    "OMPI_MCA_", "MPIR_CVAR_", "UCX_", "TUTTI_", "MPICH_", "FI_", "OMP_NUM_THREADS", "HYDRA_"};

// What Open MPI's launcher tells its processes about itself: addresses, no settings.
constexpr std::array<std::string_view, 3> kInternal{"OMPI_MCA_orte_", "OMPI_MCA_ess",
                                                    "OMPI_MCA_initial_"};

bool starts_with_one_of(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

std::optional<int> number(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return {};
  const std::string_view text{value};
  int result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return result;
}

// The launcher all of whose variables are set. Slurm sets the rank outside of steps too, so the
// number of tasks in the step must be there as well.
const Launcher* find_launcher() {
  for (const Launcher& launcher : kLaunchers)
    if (number(launcher.rank) && number(launcher.size)) return &launcher;
  return nullptr;
}

}  // namespace

std::optional<int> launched_rank() {
  const Launcher* launcher = find_launcher();
  return launcher == nullptr ? std::nullopt : number(launcher->rank);
}

std::optional<int> launched_size() {
  const Launcher* launcher = find_launcher();
  return launcher == nullptr ? std::nullopt : number(launcher->size);
}

std::string launcher_name() {
  const Launcher* launcher = find_launcher();
  return launcher == nullptr ? "" : launcher->name;
}

std::map<std::string, std::string> recorded_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || starts_with_one_of(text, kInternal)) continue;
    if (starts_with_one_of(text, kRecorded))
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

}  // namespace tutti::perf
