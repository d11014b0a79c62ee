// The mpi backend as a module of the command; compiled once per binary interface of MPIs.
#include "perf/mpi/module.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <tutti/export.hpp>
#include <tutti/mpi.hpp>

namespace tutti::perf {

namespace {

// When a job ends, Hydra drops output that it has not forwarded yet.
constexpr std::chrono::milliseconds kTimeToForward{200};

std::string library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string version{text.data(), static_cast<std::size_t>(length)};
  // Open MPI prints "Open MPI v4.1.4, package: ...", MPICH "MPICH Version:\t4.0.2\nMPICH ...".
  version = version.substr(0, version.find_first_of(",\n"));
  if (const std::size_t colon = version.find(" Version:"); colon != std::string::npos)
    version =
        version.substr(0, colon) + " " +
        version.substr(version.find_first_not_of(" \t", colon + std::string{" Version:"}.size()));
  return version.substr(0, version.find_last_not_of(" \t\r\n") + 1);
}

// A part of the world. It is destroyed before the world.
class MpiPart : public MeasuredWorld {
 public:
  MpiPart(MPI_Comm comm, Communicator communicator)
      : comm_{comm}, communicator_{std::move(communicator)} {}
  ~MpiPart() override {
    if (comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
  }

  Communicator& communicator() override { return communicator_; }
  bool has_library() const override { return true; }
  bool has_native(const Call& call) override { return mpi::has_native(call, comm_); }
  void native(const Call& call) override { mpi::native(call, comm_); }
  std::unique_ptr<MeasuredWorld> part(std::span<const Rank> ranks) override {
    const Rank self = communicator_.rank();
    const bool is_in = std::ranges::find(ranks, self) != ranks.end();
    Communicator some = communicator_.split(is_in ? 0 : 1, self);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_, is_in ? 0 : MPI_UNDEFINED, self, &comm);
    return is_in ? std::make_unique<MpiPart>(comm, std::move(some)) : nullptr;
  }
  std::string library() const override { return perf::library(); }

 private:
  MPI_Comm comm_;
  Communicator communicator_;
};

// Finalises the MPI after all objects that use it.
struct InSession {
  InSession() = default;
  InSession(const InSession&) = delete;
  InSession& operator=(const InSession&) = delete;
  ~InSession() { MPI_Finalize(); }
};

// All ranks.
class MpiWorld final : private InSession, public MpiPart {
 public:
  explicit MpiWorld(Communicator communicator) : MpiPart{MPI_COMM_WORLD, std::move(communicator)} {}
};

int initialise() {
  MPI_Init(nullptr, nullptr);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void finalise() noexcept {
  MPI_Finalize();
}

// If it fails the MPI stays as it is: MPI_Finalize would wait for the missing ranks.
std::unique_ptr<MeasuredWorld> join(const std::string& transport,
                                    const CommunicatorOptions& options,
                                    void (*warn)(std::string_view)) {
  if (transport == "mpi")
    return std::make_unique<MpiWorld>(
        mpi::communicator(MPI_COMM_WORLD, options, {.timeout = options.timeout}));
  return std::make_unique<MpiWorld>(mpi::init(
      MPI_COMM_WORLD,
      {.transport = transport, .timeout = options.timeout, .warn = warn, .communicator = options}));
}

void end_all_ranks(int exit_code, bool initialises) noexcept {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (finalised != 0 || (initialised == 0 && !initialises)) return;
  if (initialised == 0) MPI_Init(nullptr, nullptr);
  std::this_thread::sleep_for(kTimeToForward);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace
}  // namespace tutti::perf

extern "C" {
TUTTI_API extern const tutti::perf::MpiModule tutti_mpi_module;
const tutti::perf::MpiModule tutti_mpi_module{
    .version = tutti::perf::kMpiModuleVersion,
    .initialise = tutti::perf::initialise,
    .finalise = tutti::perf::finalise,
    .join = tutti::perf::join,
    .end_job = tutti::perf::end_all_ranks,
    .library = tutti::perf::library,
};
}
