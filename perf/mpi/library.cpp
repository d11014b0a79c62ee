#include "perf/mpi/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>

#include "perf/build.hpp"

namespace tutti::perf {
namespace {

constexpr std::array<std::string_view, 1> kOpenMpiLibraries{"libmpi.so.40"};
// Debian renames MPICH's library.
constexpr std::array<std::string_view, 2> kMpichLibraries{"libmpi.so.12", "libmpich.so.12"};
constexpr std::array<std::string_view, 1> kStandardLibraries{"libmpi_abi.so.1"};
constexpr std::array kFamilies{
    MpiFamily{"openmpi", "Open MPI 4 and 5", kOpenMpiLibraries},
    MpiFamily{"mpich", "MPICH 3.2 and later, Intel MPI, MVAPICH, Cray MPICH", kMpichLibraries},
    MpiFamily{"standard", "MPIs of the standard binary interface", kStandardLibraries},
};

// Where libraries lie, seen from the folder of the launcher.
constexpr std::array<std::string_view, 4> kLibraryFolders{"lib", "lib64", "lib/release",
                                                          "lib/x86_64-linux-gnu"};

// Parts of the names of launchers, and of the processes by which they start ranks.
constexpr std::array<std::string_view, 6> kLauncherNames{"mpirun", "mpiexec", "mpispawn",
                                                         "hydra",  "orte",    "prte"};

bool is_launcher(const std::string& name) {
  return std::ranges::any_of(kLauncherNames, [&name](std::string_view part) {
    return name.find(part) != std::string::npos;
  });
}

bool has_variable(const runtime::Environment& environment, std::string_view name) {
  return runtime::value_of(environment, name).has_value();
}

// The number of the parent of a process; 0 if it cannot be read.
int parent_of(int process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
  std::string line;
  std::getline(file, line);
  // The name stands in parentheses and may contain any character; then come the state and the
  // parent.
  const std::size_t end = line.rfind(')');
  return end == std::string::npos || end + 4 >= line.size() ? 0 : std::atoi(&line[end + 4]);
}

// The executables of the parents of this process, the nearest first: one of them is the launcher or
// its proxy.
std::vector<std::filesystem::path> parents() {
  constexpr std::size_t kMost = 8;
  std::vector<std::filesystem::path> executables;
  for (int process = getppid(); process > 1 && executables.size() < kMost;
       process = parent_of(process)) {
    std::error_code none;
    const auto executable =
        std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", none);
    if (!executable.empty()) executables.push_back(executable);
  }
  return executables;
}

// A symbol decides, since names of files say little: libmpi.so is the name of any MPI.
const MpiFamily& family_of_library(void* library) {
  if (dlsym(library, "ompi_mpi_comm_self") != nullptr) return kFamilies[0];
  int major = -1;
  int minor = -1;
  if (const auto version =
          reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "MPI_Abi_get_version")))
    version(&major, &minor);
  return major > 0 ? kFamilies[2] : kFamilies[1];
}

std::string module_file(const MpiFamily& family) {
  return fmt::format("{}/tutti_mpi_{}.so", module_folder(), family.name);
}

std::string path_of(void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Global, since the module and the MPI's own plugins look for its symbols there.
void* open_library(const std::vector<std::string>& names, std::vector<std::string>& errors) {
  if (dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr) return dlopen(nullptr, RTLD_NOW);  // preloaded
  for (const std::string& name : names) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr && dlsym(library, "MPI_Init") != nullptr) return library;
    errors.emplace_back(library == nullptr ? dlerror() : name + ": it has no MPI_Init");
  }
  return nullptr;
}

LoadedMpi load() {
  std::vector<std::string> errors;
  const runtime::Environment environment = runtime::process_environment();
  void* const library = open_library(mpi_libraries(environment, parents()), errors);
  if (library == nullptr)
    return {.why = fmt::format(
                "no library of an MPI can be loaded: {}; set TUTTI_MPI_LIBRARY to its path",
                fmt::join(errors, "; "))};
  const MpiFamily& family = family_of_library(library);
  LoadedMpi loaded{.path = path_of(dlsym(library, "MPI_Init")), .family = std::string{family.name}};
  const std::string file = module_file(family);
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    loaded.why = access(file.c_str(), F_OK) == 0
                     ? std::string{dlerror()}
                     : fmt::format(
                           "{} is of {}, and tutti was built without a module for it: "
                           "{} is missing",
                           loaded.path, family.members, file);
    return loaded;
  }
  const auto* const offered = static_cast<const MpiModule*>(dlsym(module, kMpiModuleSymbol));
  if (offered == nullptr || offered->version != kMpiModuleVersion) {
    loaded.why = file + " is of another version of tutti: install tutti again";
    return loaded;
  }
  loaded.module = offered;
  return loaded;
}

// A process loads one MPI only, as it opens a library once only.
std::optional<LoadedMpi>& of_process() {
  static std::optional<LoadedMpi> loaded;
  return loaded;
}

}  // namespace

std::span<const MpiFamily> mpi_families() noexcept {
  return kFamilies;
}

std::vector<const MpiFamily*> families_of_launcher(const runtime::Environment& environment) {
  const auto has = [&environment](std::string_view name) {
    return has_variable(environment, name);
  };
  if (has("OMPI_COMM_WORLD_SIZE")) return {&kFamilies[0]};
  if (has("HYDI_CONTROL_FD") || has("PMI_FD") || has("PMI_PORT") || has("I_MPI_MPIRUN") ||
      has("MV2_COMM_WORLD_SIZE") || has("PALS_LOCAL_RANKID"))
    return {&kFamilies[1], &kFamilies[2]};
  return {&kFamilies[0], &kFamilies[1], &kFamilies[2]};
}

std::vector<std::string> mpi_libraries(const runtime::Environment& environment,
                                       std::span<const std::filesystem::path> launchers) {
  if (const auto chosen = runtime::value_of(environment, "TUTTI_MPI_LIBRARY"))
    return {std::string{*chosen}};
  const std::vector<const MpiFamily*> families = families_of_launcher(environment);
  std::vector<std::string> names;
  for (const std::filesystem::path& launcher : launchers) {
    if (!is_launcher(launcher.filename().string())) continue;
    for (const MpiFamily* family : families)
      for (const std::string_view folder : kLibraryFolders)
        for (const std::string_view library : family->libraries) {
          const std::filesystem::path path =
              launcher.parent_path().parent_path() / folder / library;
          std::error_code none;
          if (std::filesystem::exists(path, none)) names.push_back(path);
        }
  }
  for (const MpiFamily* family : families)
    names.insert(names.end(), family->libraries.begin(), family->libraries.end());
  return names;
}

const LoadedMpi& loaded_mpi() {
  std::optional<LoadedMpi>& loaded = of_process();
  if (!loaded) loaded = load();
  return *loaded;
}

bool has_loaded_mpi() noexcept {
  return of_process() && of_process()->module != nullptr;
}

std::vector<std::string> installed_mpi_modules() {
  std::vector<std::string> names;
  for (const MpiFamily& family : kFamilies)
    if (access(module_file(family).c_str(), R_OK) == 0) names.emplace_back(family.name);
  return names;
}

}  // namespace tutti::perf
