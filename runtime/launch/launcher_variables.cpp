// The environment variables of each launcher.
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <tutti/error.hpp>

#include "launch.hpp"
#include "placement.hpp"

namespace tutti::runtime {

namespace {

// The variables that a launcher sets. Empty: it sets none.
struct VariableNames {
  const char* source;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* job;
};

constexpr VariableNames kTutti{"TUTTI_RANK",       "TUTTI_RANK",       "TUTTI_SIZE",
                               "TUTTI_LOCAL_RANK", "TUTTI_LOCAL_SIZE", ""};
constexpr VariableNames kTorchrun{
    "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"};
constexpr VariableNames kOpenMpi{"Open MPI",
                                 "OMPI_COMM_WORLD_RANK",
                                 "OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE",
                                 "PMIX_NAMESPACE"};
constexpr VariableNames kPmix{"PMIx", "PMIX_RANK", "", "", "", "PMIX_NAMESPACE"};
constexpr VariableNames kHydra{"Hydra",           "PMI_RANK",        "PMI_SIZE",
                               "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""};
constexpr VariableNames kMvapich{"MVAPICH",
                                 "MV2_COMM_WORLD_RANK",
                                 "MV2_COMM_WORLD_SIZE",
                                 "MV2_COMM_WORLD_LOCAL_RANK",
                                 "MV2_COMM_WORLD_LOCAL_SIZE",
                                 ""};
constexpr VariableNames kSlurm{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "",
                               ""};
// Older Slurm, and some batch systems that imitate it, set the size of the step in this variable
// only.
constexpr VariableNames kSlurmOld{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "", ""};

// A launcher without a means of exchange that tutti supports.
struct OtherLauncher {
  VariableNames names;
  Exchange exchange;          // mpi: through an MPI of the launcher; url: only if the user sets it
  bool is_ambiguous = false;  // other programs may use these names: all of them must be set
};

// Hydra with -pmi-port, and other launchers that set the local numbers only.
constexpr VariableNames kHydraPort{"Hydra", "PMI_ID", "", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""};

constexpr std::array<OtherLauncher, 15> kOtherLaunchers{{
    {kHydraPort, Exchange::mpi},
    {{"Platform MPI", "MPI_RANKID", "MPI_NRANKS", "", "", ""}, Exchange::mpi},
    {{"PALS", "PALS_RANKID", "", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", ""}, Exchange::mpi},
    {{"ALPS", "ALPS_APP_PE", "", "", "", ""}, Exchange::mpi},
    {{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
      "JSM_NAMESPACE_LOCAL_SIZE", ""},
     Exchange::mpi},
    {{"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", ""}, Exchange::mpi},
    {{"mpirun_rsh", "MPIRUN_RANK", "MPIRUN_NPROCS", "", "", ""}, Exchange::mpi},
    {{"MVAPICH", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_LOCAL_RANK",
      "MVP_COMM_WORLD_LOCAL_SIZE", ""},
     Exchange::mpi},
    {{"POE", "MP_CHILD", "", "", "", ""}, Exchange::mpi},
    {{"NEC MPI", "MPIRANK", "MPISIZE", "", "", ""}, Exchange::mpi, true},
    {{"Horovod", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", ""},
     Exchange::url},
    {{"PaddlePaddle", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "", "", ""}, Exchange::url},
    {{"JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "", "", ""}, Exchange::url},
    {{"Ascend", "RANK_ID", "RANK_SIZE", "", "", ""}, Exchange::url, true},
    {{"DMLC", "DMLC_WORKER_ID", "DMLC_NUM_WORKER", "", "", ""}, Exchange::url},
}};

[[noreturn]] void reject_variable(const std::string& message) {
  throw Error{ErrorCode::invalid_argument, message};
}

bool is_set(const Environment& environment, std::string_view name) {
  return value_of(environment, name).has_value();
}

std::string text_of(const Environment& environment, std::string_view name) {
  return std::string{value_of(environment, name).value_or("")};
}

// Checks that one variable is below another one.
void check_below(const char* place, int value, const char* count, int limit) {
  if (value < 0 || limit < 0 || value < limit) return;
  reject_variable(std::string{place} + " is " + std::to_string(value) + ", but " + count + " is " +
                  std::to_string(limit) + "; it must be a number from 0 to " +
                  std::to_string(limit - 1));
}

// Reads the numbers of a launch. Throws if they are impossible.
Launch read_numbers(const Environment& environment, const VariableNames& names) {
  const auto read = [&environment](const char* name, int least) {
    const int most = kLargestWorld - 1 + least;
    return *name == '\0' ? -1 : number_of(environment, name, least, most).value_or(-1);
  };
  Launch launch{.source = names.source,
                .rank = read(names.rank, 0),
                .size = read(names.size, 1),
                .local_rank = read(names.local_rank, 0),
                .local_size = read(names.local_size, 1),
                .job = text_of(environment, names.job)};
  check_below(names.rank, launch.rank, names.size, launch.size);
  check_below(names.local_rank, launch.local_rank, names.local_size, launch.local_size);
  if (launch.size > 0 && launch.local_size > launch.size)
    reject_variable(std::string{names.local_size} + " is " + std::to_string(launch.local_size) +
                    ", but " + names.size + " is only " + std::to_string(launch.size));
  return launch;
}

// Marks a launch incomplete if one of the variables is not set.
void require_variables(const Environment& environment, Launch& launch,
                       std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (is_set(environment, name)) continue;
    launch.status = LaunchStatus::incomplete;
    launch.remark += (launch.remark.empty() ? "" : ", ") + std::string{name} + " is missing";
  }
}

// PyTorch's own store, or the agent of torchrun, listens at MASTER_PORT, so tutti uses the next
// port.
std::string master_url(const Environment& environment) {
  constexpr int kHighestPort = 65535;
  const int port = number_of(environment, "MASTER_PORT", 1, kHighestPort).value_or(-1);
  const std::string host = text_of(environment, "MASTER_ADDR");
  const bool is_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return "tcp://" + (is_ipv6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port == kHighestPort ? port - 1 : port + 1);
}

void read_tutti(const Environment& environment, Launch& launch) {
  require_variables(environment, launch, {"TUTTI_RANK", "TUTTI_SIZE"});
  launch.exchange = Exchange::url;  // TUTTI_URL: detect_launch sets it for every source
}

// PyTorch's env:// needs these four variables; users who set them by hand set no others.
void read_torchrun(const Environment& environment, Launch& launch) {
  launch.exchange = Exchange::url;
  require_variables(environment, launch, {"RANK", "WORLD_SIZE"});
  if (launch.status != LaunchStatus::usable || is_set(environment, "TUTTI_URL")) return;
  require_variables(environment, launch, {"MASTER_ADDR", "MASTER_PORT"});
  if (launch.status == LaunchStatus::usable) launch.url = master_url(environment);
  else launch.remark += "; set it, or set TUTTI_URL to " + std::string{kMeetingPlaces};
}

void read_open_mpi(const Environment& environment, Launch& launch) {
  require_variables(environment, launch, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"});
  const bool has_master = is_set(environment, "MASTER_ADDR") && is_set(environment, "MASTER_PORT");
  launch.exchange = is_set(environment, "PMIX_NAMESPACE") ? Exchange::pmix
                    : has_master                          ? Exchange::url
                                                          : Exchange::mpi;
  if (launch.exchange == Exchange::url) launch.url = master_url(environment);
}

void read_pmix(const Environment& environment, Launch& launch) {
  require_variables(environment, launch, {"PMIX_RANK", "PMIX_NAMESPACE"});
  launch.exchange = Exchange::pmix;
}

// A variable, or its other name: of older Slurm, or of the whole job.
const char* first_set(const Environment& environment, const char* name, const char* other) {
  return is_set(environment, name) ? name : other;
}

// The number of this process's step, under either name.
const char* step_variable(const Environment& environment) {
  return first_set(environment, "SLURM_STEP_ID", "SLURM_STEPID");
}

// Slurm gives the shells of salloc and the scripts of sbatch the highest numbers of 32 bits.
bool is_in_step(const Environment& environment) {
  const auto step = value_of(environment, step_variable(environment));
  return step && !(step->size() == 10 && step->starts_with("42949672"));
}

const char* slurm_list(const Environment& environment) {
  return first_set(environment, "SLURM_STEP_NODELIST", "SLURM_NODELIST");
}

std::string slurm_url(const Environment& environment) {
  // Below the ports that the kernel assigns to connections.
  constexpr int kFirstPort = 20000;
  constexpr int kPorts = 10000;
  const char* list = slurm_list(environment);
  std::string host;
  try {
    host = slurm_hosts(text_of(environment, list), 1).front();
  } catch (const Error& error) {
    reject_variable(std::string{list} + ": " + error.what());
  }
  const std::uint32_t job = number_of_32_bits(environment, "SLURM_JOB_ID").value_or(0);
  const std::uint32_t step = number_of_32_bits(environment, step_variable(environment)).value_or(0);
  return "tcp://" + host + ":" +
         std::to_string(static_cast<std::uint32_t>(kFirstPort) + (job * 31U + step) % kPorts);
}

std::string slurm_job(const Environment& environment) {
  return text_of(environment, "SLURM_JOB_ID") + "." +
         text_of(environment, step_variable(environment));
}

void read_hydra(const Environment& environment, Launch& launch) {
  require_variables(environment, launch, {"PMI_RANK", "PMI_SIZE"});
  if (launch.local_rank < 0)
    launch.local_rank = number_of(environment, "PALS_LOCAL_RANKID", 0).value_or(-1);
  // Slurm's imitation of PMI requires the initialisation command, which may be sent once only: an
  // MPI in the same process could not start any more. Slurm's list of hosts replaces it.
  if (is_in_step(environment) && !is_set(environment, "HYDI_CONTROL_FD")) {
    launch.source = "PMI of Slurm";
    launch.exchange = Exchange::url;
    launch.url = slurm_url(environment);
    return;
  }
  launch.descriptor = number_of(environment, "PMI_FD", 0).value_or(-1);
  launch.exchange = launch.descriptor < 0 ? Exchange::mpi : Exchange::pmi;
}

void read_mvapich(const Environment& environment, Launch& launch) {
  require_variables(environment, launch, {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"});
  launch.exchange = Exchange::mpi;
}

void read_slurm(const Environment& environment, Launch& launch) {
  if (!is_in_step(environment)) {
    launch.status = LaunchStatus::outer;
    launch.remark = "the script of sbatch or the shell of salloc, not a step of srun";
    return;
  }
  launch.exchange = Exchange::url;
  if (launch.size < 0) {
    launch.status = LaunchStatus::incomplete;
    launch.remark = "SLURM_STEP_NUM_TASKS is missing";
    return;
  }
  launch.job = slurm_job(environment);
  launch.url = slurm_url(environment);
  const std::string hosts = text_of(environment, slurm_list(environment));
  const std::string counts = text_of(
      environment, first_set(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"));
  const std::string distribution = text_of(environment, "SLURM_DISTRIBUTION");
  launch.hosts = slurm_placement({hosts, counts, distribution}, launch.size);
}

// RANK or WORLD_SIZE alone may belong to any program.
bool is_of_torchrun(const Environment& environment) {
  const auto has = [&environment](const char* name) { return is_set(environment, name); };
  const bool has_master = has("MASTER_ADDR") && has("MASTER_PORT");
  return (has("RANK") && (has("WORLD_SIZE") || has("LOCAL_RANK") || has_master)) ||
         (has("WORLD_SIZE") && has("LOCAL_RANK"));
}

// The variables of a launch that are set.
std::vector<std::string> set_variables(const Environment& environment, const VariableNames& names) {
  std::vector<std::string> found;
  for (const char* name : {names.rank, names.size, names.local_rank, names.local_size})
    if (is_set(environment, name)) found.emplace_back(name);
  return found;
}

using Reader = void (*)(const Environment&, Launch&);

// Appends the launch of a launcher.
void add_launch(const Environment& environment, const VariableNames& names, Reader reader,
                std::vector<Launch>& launches) {
  Launch launch{.source = names.source};
  try {
    launch = read_numbers(environment, names);
    reader(environment, launch);
  } catch (const Error& error) {
    launch.status = LaunchStatus::invalid;
    launch.remark = error.what();
  }
  launch.variables = set_variables(environment, names);
  launches.push_back(std::move(launch));
}

std::size_t count_variables(const VariableNames& names) {
  const std::array all{names.rank, names.size, names.local_rank, names.local_size};
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [](const char* name) { return *name != '\0'; }));
}

// Appends the launches of launchers that tutti knows by their variables only, if there is no other.
void add_other_launches(const Environment& environment, std::vector<Launch>& launches) {
  const auto is_outer = [](const Launch& launch) { return launch.status == LaunchStatus::outer; };
  if (!std::all_of(launches.begin(), launches.end(), is_outer)) return;
  for (const OtherLauncher& launcher : kOtherLaunchers) {
    const std::vector<std::string> found = set_variables(environment, launcher.names);
    if (found.empty() || (launcher.is_ambiguous && found.size() < count_variables(launcher.names)))
      continue;
    add_launch(
        environment, launcher.names, [](const Environment&, Launch&) {}, launches);
    Launch& launch = launches.back();
    if (launch.status == LaunchStatus::invalid) continue;
    launch.status = LaunchStatus::fallback;
    launch.exchange = launcher.exchange;
    for (const std::string& name : found)
      launch.remark += (launch.remark.empty() ? "" : ", ") + name;
  }
}

// Some launchers start one agent per host with srun, and the agents start the ranks: then the
// variables of the step describe the agent.
void exclude_agents(const Environment& environment, std::vector<Launch>& launches) {
  if (launches.size() < 2 || launches.back().source != kSlurm.source) return;
  Launch& slurm = launches.back();
  if (slurm.status != LaunchStatus::usable || launches.front().source == "PMI of Slurm") return;
  const auto nodes = value_of(environment, "SLURM_STEP_NUM_NODES");
  if (!nodes || *nodes != std::to_string(slurm.size)) return;
  slurm.status = LaunchStatus::outer;
  slurm.remark = "one task per host: the agents of " + launches.front().source;
}

}  // namespace

std::vector<Launch> detect_launches(const Environment& environment) {
  const auto has = [&environment](const char* name) { return is_set(environment, name); };
  std::vector<Launch> launches;
  if (has("TUTTI_RANK") || has("TUTTI_SIZE")) add_launch(environment, kTutti, read_tutti, launches);
  if (is_of_torchrun(environment)) add_launch(environment, kTorchrun, read_torchrun, launches);
  if (has(kOpenMpi.rank) || has(kOpenMpi.size))
    add_launch(environment, kOpenMpi, read_open_mpi, launches);
  if (has(kPmix.rank) || has(kPmix.job)) add_launch(environment, kPmix, read_pmix, launches);
  if (has(kHydra.rank) || has(kHydra.size)) add_launch(environment, kHydra, read_hydra, launches);
  if (has(kMvapich.rank) || has(kMvapich.size))
    add_launch(environment, kMvapich, read_mvapich, launches);
  if (has(kSlurm.rank))
    add_launch(environment, has(kSlurm.size) ? kSlurm : kSlurmOld, read_slurm, launches);
  exclude_agents(environment, launches);
  add_other_launches(environment, launches);
  return launches;
}

std::vector<std::string> rank_variables(const Environment& environment) {
  std::vector<std::string> variables;
  for (const Launch& launch : detect_launches(environment))
    variables.insert(variables.end(), launch.variables.begin(), launch.variables.end());
  for (const char* name : {kPmix.job, "TUTTI_URL", "TUTTI_HOSTS"})
    if (is_set(environment, name)) variables.emplace_back(name);
  return variables;
}

bool is_launch_variable(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 12> kPrefixes{
      "TUTTI_RANK",  "TUTTI_SIZE",       "TUTTI_LOCAL_", "TUTTI_URL",
      "TUTTI_HOSTS", "OMPI_COMM_WORLD_", "OMPI_MCA_ess", "PMIX_",
      "PMI_",        "MV2_COMM_WORLD_",  "MPI_LOCAL",    "TORCHELASTIC_"};
  constexpr std::array<std::string_view, 15> kNames{
      "RANK",          "WORLD_SIZE",          "LOCAL_RANK",       "LOCAL_WORLD_SIZE",
      "MASTER_ADDR",   "MASTER_PORT",         "GROUP_RANK",       "HYDI_CONTROL_FD",
      "SLURM_PROCID",  "SLURM_STEP_ID",       "SLURM_STEPID",     "SLURM_STEP_NUM_TASKS",
      "SLURM_LOCALID", "SLURM_STEP_NODELIST", "PALS_LOCAL_RANKID"};
  const auto is_of = [name](const OtherLauncher& launcher) {
    const VariableNames& names = launcher.names;
    return name == names.rank || name == names.size || name == names.local_rank ||
           name == names.local_size;
  };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kOtherLaunchers.begin(), kOtherLaunchers.end(), is_of) ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace tutti::runtime
