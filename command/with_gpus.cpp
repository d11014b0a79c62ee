#include "command/with_gpus.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/communicator.hpp>

#include "backends/cuda/timed_stream.hpp"
#include "perf/failure.hpp"
#include "perf/measured_world_gpu.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;

namespace {

// The index of this rank among the ranks of this host.
int local_rank_of(Communicator& communicator) {
  const std::vector<std::string> names = perf::gather_texts(communicator, perf::host_name());
  const auto own = names.begin() + communicator.rank();
  return static_cast<int>(std::count(names.begin(), own, *own));
}

// If a library or a GPU is missing, attach_in_turn throws on all ranks.
int attached(Communicator& communicator, const perf::SweepOptions& options, Duration timeout) {
  const int local_rank = local_rank_of(communicator);
  try {
    return cuda::attach_in_turn(communicator, local_rank, options.gpu_transport,
                                options.buffers == "visible", timeout);
  } catch (const Error& error) {
    const std::string what = std::string{"--memory cuda: "} + error.what();
    if (error.code() == ErrorCode::transport) throw Failure{ExitCode::environment, what};
    if (error.code() != ErrorCode::invalid_argument) throw;
    if (options.gpu_transport != "nccl") throw Failure{ExitCode::environment, what};
    // Two ranks share one GPU.
    throw Failure{ExitCode::environment,
                  what +
                      " (the ranks of a host take its GPUs in turn: start no more of them than it "
                      "has)"};
  }
}

}  // namespace

std::unique_ptr<perf::MeasuredWorld> with_gpus(std::unique_ptr<perf::MeasuredWorld> world,
                                               const perf::SweepOptions& options,
                                               Duration timeout) {
  Communicator& communicator = world->communicator();
  const int device = attached(communicator, options, timeout);
  // Either all ranks have peers, or no rank has.
  if (options.buffers == "visible" && communicator.size() > 1 &&
      streams_of(communicator)->peers() == nullptr)
    throw Failure{ExitCode::environment,
                  "--buffers visible: these GPUs do not see each other's memory (NVLink, or peer "
                  "access within a host); leave it out"};
  auto stream = cuda::make_timed_stream(communicator, device, timeout);
  return perf::make_gpu_world(std::move(world), std::move(stream));
}

}  // namespace tutti::command
