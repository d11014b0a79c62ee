#include "perf/environment.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "runtime/launch/config.hpp"
#include "runtime/launch/launch.hpp"

namespace tutti::perf {

namespace {

constexpr std::array<std::string_view, 10> kRecorded{
    "OMPI_MCA_", "MPIR_CVAR_",      "UCX_",   "TUTTI_", "MPICH_",
    "FI_",       "OMP_NUM_THREADS", "HYDRA_", "NCCL_",  "CUDA_"};

// Variables in which Open MPI's launcher describes itself: addresses, no settings.
constexpr std::array<std::string_view, 3> kInternal{"OMPI_MCA_orte_", "OMPI_MCA_ess",
                                                    "OMPI_MCA_initial_"};

bool starts_with_one_of(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

// The launcher whose variables count. When a world is joined, tutti checks that several launchers
// agree, and chooses the transport.
std::optional<runtime::Launch> launched() {
  for (const runtime::Launch& launch : runtime::detect_launches(runtime::process_environment()))
    if ((launch.status == runtime::LaunchStatus::usable ||
         launch.status == runtime::LaunchStatus::fallback) &&
        launch.rank >= 0 && launch.size > 0)
      return launch;
  return {};
}

}  // namespace

std::optional<int> launched_rank() {
  const std::optional<runtime::Launch> launch = launched();
  return launch ? std::optional{launch->rank} : std::nullopt;
}

std::optional<int> launched_size() {
  const std::optional<runtime::Launch> launch = launched();
  return launch ? std::optional{launch->size} : std::nullopt;
}

std::string launcher_name() {
  const std::optional<runtime::Launch> launch = launched();
  return launch ? launch->source : "";
}

bool is_mpi_launch() {
  const std::optional<runtime::Launch> launch = launched();
  return launch && (launch->exchange == runtime::Exchange::pmi ||
                    launch->exchange == runtime::Exchange::pmix ||
                    launch->exchange == runtime::Exchange::mpi);
}

std::vector<std::string> own_command() {
  std::ifstream file{"/proc/self/cmdline", std::ios::binary};
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.front() = std::filesystem::read_symlink("/proc/self/exe");
  return words;
}

std::map<std::string, std::string> recorded_environment() {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : runtime::process_environment())
    if (starts_with_one_of(name, kRecorded) && !starts_with_one_of(name, kInternal))
      result.emplace(name, value);
  return result;
}

}  // namespace tutti::perf
