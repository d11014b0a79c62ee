// The only file of the command that knows an MPI; built once per MPI.
#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <tutti/mpi.hpp>

#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/measured_world.hpp"

namespace tutti::perf {

namespace {

// When a job ends, Hydra drops output that it has not forwarded yet.
constexpr std::chrono::milliseconds kTimeToForward{200};

// Initialises MPI, and finalises it after all objects that use it.
class Session {
 public:
  Session() { MPI_Init(nullptr, nullptr); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { MPI_Finalize(); }
};

int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// If the program is linked to one MPI and started by the launcher of another, each process is rank
// 0 of 1.
void check_launch(int size) {
  const int launched = launched_size().value_or(1);
  if (launched == size || launched == 1) return;
  throw Failure{
      ExitCode::environment,
      fmt::format("the launcher ({}) started {} ranks, but this program's MPI ({}) sees "
                  "{}: they are different MPIs; use the launcher of {}, or the tutti that "
                  "was built for the launcher's MPI",
                  launcher_name(), launched, linked_mpi(), size, linked_mpi())};
}

// A part of the world. It is destroyed before the session.
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
  std::string library() const override { return linked_mpi(); }

 private:
  MPI_Comm comm_;
  Communicator communicator_;
};

struct InSession {
  std::unique_ptr<Session> session;
};

// All ranks. The session is destroyed after the communicator.
class MpiWorld final : private InSession, public MpiPart {
 public:
  MpiWorld(std::unique_ptr<Session> joined, Communicator communicator)
      : InSession{std::move(joined)}, MpiPart{MPI_COMM_WORLD, std::move(communicator)} {}
};

}  // namespace

std::unique_ptr<MeasuredWorld> join_world(const std::string& transport,
                                          const CommunicatorOptions& options) {
  if (!is_of_mpi(transport) && !is_mpi_launch()) return join_own_world(transport, options);
  auto session = std::make_unique<Session>();
  check_launch(size_of_world());
  try {
    Communicator communicator =
        transport == "mpi"
            ? mpi::communicator(MPI_COMM_WORLD, options, {.timeout = options.timeout})
            : mpi::init(MPI_COMM_WORLD, {.transport = transport,
                                         .timeout = options.timeout,
                                         .warn = print_warning,
                                         .communicator = options});
    return std::make_unique<MpiWorld>(std::move(session), std::move(communicator));
  } catch (...) {
    static_cast<void>(session.release());  // MPI_Finalize would wait for the missing ranks
    throw;
  }
}

void end_job(int exit_code) noexcept {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  // Some launchers watch only processes that have called MPI_Init. `tutti run` watches all.
  if (initialized == 0 && (!is_mpi_launch() || launched_size().value_or(1) == 1)) return;
  if (initialized == 0) MPI_Init(nullptr, nullptr);
  std::this_thread::sleep_for(kTimeToForward);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

std::string linked_mpi() {
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

}  // namespace tutti::perf
