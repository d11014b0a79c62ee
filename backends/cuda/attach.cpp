// The public entry points.
#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "nccl_streams.hpp"

namespace tutti::inline v0::cuda {
namespace {

/// What a rank tells all others, so that they go on together or not at all.
struct Report {
  std::array<std::uint8_t, 16> uuid{};  ///< Of its GPU.
  std::array<char, 384> why{};          ///< What it lacks, or nothing.
  ErrorCode code = ErrorCode::transport;
  ncclUniqueId id{};  ///< Rank 0's.
};

/// Does a part of the start. @param report says what it threw.
template <class Part>
void attempt(Report& report, Part part) {
  try {
    part();
  } catch (const Error& error) {
    report.code = error.code();
    std::strncpy(report.why.data(), error.what(), report.why.size() - 1);
  }
}

/// Collective. @return what all ranks say. Throws, on all, what the first one says that lacks
/// something.
std::vector<Report> agree(Communicator& world, const Report& own) {
  std::vector<Report> all(static_cast<std::size_t>(world.size()));
  world.all_gather(std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{all}));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].why.front() != '\0')
      throw Error{all[rank].code,
                  "rank " + std::to_string(rank) + " has no GPU: " + all[rank].why.data(),
                  static_cast<Rank>(rank)};
  return all;
}

void require_distinct(const std::vector<Report>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (std::size_t other = 0; other < rank; ++other)
      if (all[rank].uuid == all[other].uuid)
        throw Error{ErrorCode::invalid_argument,
                    "ranks " + std::to_string(other) + " and " + std::to_string(rank) +
                        " have the same GPU; give each rank its own, such as by "
                        "cudaSetDevice(local rank) before",
                    static_cast<Rank>(rank)};
}

int chosen_device(const Driver& driver, int wanted) {
  if (wanted >= 0) return wanted;
  CUdevice current = 0;
  if (driver.calls().current_device(&current) == CUDA_SUCCESS) return current;
  const int devices = driver.devices();
  if (devices == 1) return 0;
  throw Error{ErrorCode::invalid_argument,
              "the process sees " + std::to_string(devices) +
                  " GPUs; say which by Options::device, or by cudaSetDevice before"};
}

std::shared_ptr<NcclStreams> nccl_of(Communicator& world) {
  const auto streams = std::dynamic_pointer_cast<NcclStreams>(streams_of(world));
  if (streams) return streams;
  throw Error{ErrorCode::invalid_argument,
              "no GPU is attached to this communicator; call tutti::cuda::attach"};
}

}  // namespace

void attach(Communicator& world, const Options& options) {
  NcclStreams::Parts parts{.nccl = nullptr, .device = nullptr, .timeout = options.timeout};
  Report own;
  attempt(own, [&] {
    if (options.timeout <= Duration::zero())
      throw Error{ErrorCode::invalid_argument, "the timeout must be more than zero"};
    const auto driver = std::make_shared<const Driver>();
    parts.device = std::make_shared<const Device>(driver, chosen_device(*driver, options.device));
    own.uuid = parts.device->uuid();
    parts.nccl = std::make_shared<const Nccl>();
    if (world.rank() == 0) parts.nccl->check(parts.nccl->calls().unique_id(&own.id), "start NCCL");
  });
  const std::vector<Report> all = agree(world, own);
  require_distinct(all);
  std::shared_ptr<NcclStreams> streams;
  attempt(own, [&] {
    streams = std::make_shared<NcclStreams>(parts, all.front().id, world.rank(), world.size());
  });
  static_cast<void>(agree(world, own));
  attach_streams(world, std::move(streams), options.compare_calls);
}

void wait(Communicator& world, Stream stream, Duration timeout) {
  constexpr std::chrono::microseconds kNap{20};
  const auto streams = nccl_of(world);
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const Duration deadline = deadline_after(now(), timeout);
  try {
    while (!streams->is_done(stream)) {
      streams->check_health();
      if (now() >= deadline)
        throw Error{ErrorCode::timeout,
                    "a stream has not done what was enqueued on it; another rank has not entered "
                    "the same calls, or is gone"};
      std::this_thread::sleep_for(kNap);
    }
    streams->check_health();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) streams->abort(error);
    throw;
  }
}

}  // namespace tutti::inline v0::cuda
