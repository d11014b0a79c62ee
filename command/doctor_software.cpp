// Checks of other software: the MPI, GPUs, Python and the tuning file.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/error.hpp>

#include "backends/cuda/survey.hpp"
#include "command/doctor_check.hpp"
#include "command/features.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/mpi/library.hpp"
#include "perf/pages/draw.hpp"
#include "perf/spawn.hpp"
#include "runtime/world/tuning_file.hpp"

namespace tutti::command::doctor {

namespace {

// Returns the programs that are in PATH.
std::vector<std::string> in_path(const Subject& subject, std::vector<std::string> programs) {
  const std::string path{runtime::value_of(subject.environment, "PATH").value_or("")};
  std::erase_if(programs, [&](const std::string& program) {
    for (const std::string& folder : perf::split(path, ':'))
      if (!folder.empty() && access((folder + "/" + program).c_str(), X_OK) == 0) return false;
    return true;
  });
  return programs;
}

std::string launchers(const Subject& subject) {
  const std::vector<std::string> found =
      in_path(subject, {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "srun"});
  return found.empty() ? "" : fmt::format("{}", fmt::join(found, ", "));
}

Check check_missing_mpi(const Subject& subject) {
  const bool is_asked = runtime::value_of(subject.environment, "TUTTI_MPI_LIBRARY").has_value();
  if (is_asked)
    return check_of_error("mpi", Verdict::fault, why_no_mpi(),
                          "set TUTTI_MPI_LIBRARY to the libmpi.so of the launcher's MPI, or unset "
                          "it: ldconfig -p | grep libmpi");
  if (perf::is_mpi_launch()) return check_of_error("mpi", Verdict::fault, why_no_mpi());
  return {
      .name = "mpi",
      .found = fmt::format("none, and none is needed: tutti run starts ranks ({})", why_no_mpi())};
}

Check check_mpi(const Subject& subject) {
  const std::string mpi = mpi_in_words();
  if (mpi.empty()) return check_missing_mpi(subject);
  const std::string names = launchers(subject);
  if (!names.empty() || perf::is_mpi_launch())
    return {.name = "mpi",
            .found = fmt::format("{}; launchers in PATH: {}", mpi, names.empty() ? "none" : names)};
  return {.name = "mpi",
          .verdict = Verdict::warning,
          .found = mpi + "; its launcher is not in PATH, so this MPI cannot be compared",
          .cure = "load the module of the MPI, or apt-get install openmpi-bin (mpich)"};
}

bool has_nvidia_device() {
  return access("/dev/nvidiactl", F_OK) == 0 || access("/proc/driver/nvidia", F_OK) == 0;
}

Check check_gpus(const cuda::Survey& survey) {
  if (!survey.gpus.empty()) {
    std::vector<std::string> names;
    for (const cuda::Gpu& gpu : survey.gpus) names.push_back(gpu.name);
    return {.name = "gpus",
            .found = fmt::format("{}: {}; driver {}", names.size(), fmt::join(names, ", "),
                                 survey.driver)};
  }
  const std::string why = survey.driver.empty() ? survey.why_no_driver : "the driver has none";
  if (!has_nvidia_device()) return {.name = "gpus", .found = "none: " + why};
  return {.name = "gpus",
          .verdict = Verdict::fault,
          .found = "this host has an NVIDIA device, but tutti sees no GPU: " + why,
          .cure =
              "install the libcuda.so.1 of the kernel's driver (nvidia-smi must list the GPUs), "
              "or docker run --gpus all; see CUDA_VISIBLE_DEVICES too"};
}

std::vector<Check> checks_of_gpus() {
  const cuda::Survey survey = cuda::survey();
  std::vector<Check> checks{check_gpus(survey)};
  if (survey.gpus.empty()) return checks;
  if (survey.nccl.empty())
    checks.push_back(check_of_error(
        "nccl", Verdict::warning, survey.why_no_nccl,
        "install NCCL 2.23 or newer: apt-get install libnccl2, or pip install nvidia-nccl-cu12"));
  else checks.push_back({.name = "nccl", .found = "version " + survey.nccl});
  return checks;
}

// Reads a package's version without loading it; empty without the package.
std::string version_of(const std::string& python, const std::string& package) {
  const std::string script =
      fmt::format("import importlib.metadata as m; print(m.version('{}'))", package);
  std::FILE* const pipe =
      popen((perf::quoted({python, "-c", script}) + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  for (int letter = std::fgetc(pipe); letter != EOF && letter != '\n'; letter = std::fgetc(pipe))
    text += static_cast<char>(letter);
  return pclose(pipe) == 0 ? text : "";
}

// Nobody needs PyTorch, so its absence is no fault.
Check check_pytorch(const Subject& subject) {
  if (in_path(subject, {"python3"}).empty())
    return {.name = "pytorch", .found = "none: python3 is not in PATH"};
  const std::string torch = version_of("python3", "torch");
  if (torch.empty()) return {.name = "pytorch", .found = "none in python3 of PATH"};
  const std::string own = version_of("python3", "tutti");
  return {.name = "pytorch",
          .found = fmt::format("version {}; the Python package tutti: {}", torch,
                               own.empty() ? "not installed" : own)};
}

Check check_pictures() {
  const std::string module = "matplotlib";
  const std::string python = perf::find_python(module);
  if (!python.empty())
    return {.name = "pictures",
            .found = fmt::format("{} {} of {}", module, version_of(python, module), python)};
  return {.name = "pictures",
          .verdict = Verdict::warning,
          .found = fmt::format("no Python with {}, which --plot needs", module),
          .cure = fmt::format("install it: apt install python3-{0}, or pip install {0} in an "
                              "environment that is active (python3 -m venv)",
                              module)};
}

Check check_tuning(const Subject& subject) {
  const std::string named{runtime::value_of(subject.environment, "TUTTI_TUNING").value_or("")};
  const runtime::TuningFile file = runtime::find_tuning(named, subject.environment);
  try {
    const runtime::UsableTuning tuning = runtime::usable_tuning(file);
    if (!tuning.refusal.empty()) return check_of_error("tuning", Verdict::warning, tuning.refusal);
    return {.name = "tuning",
            .found = tuning.text.empty()
                         ? "no file: choices follow the cost model; tutti tune measures them"
                         : file.path + " is of this machine"};
  } catch (const Error& error) {
    const std::string text = error.what();
    return check_of_error("tuning", Verdict::fault, text.substr(0, text.find('\n')),
                          "measure again with tutti tune, or set TUTTI_TUNING=none");
  }
}

}  // namespace

std::vector<Check> checks_of_software(const Subject& subject) {
  std::vector<Check> checks{check_mpi(subject), check_tuning(subject)};
  if (!subject.is_first_here) return checks;
  for (Check& check : checks_of_gpus()) checks.push_back(std::move(check));
  checks.push_back(check_pytorch(subject));
  checks.push_back(check_pictures());
  return checks;
}

}  // namespace tutti::command::doctor
