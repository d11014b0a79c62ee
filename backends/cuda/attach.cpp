// The public functions of the cuda backend.
#include <tutti/batch.hpp>
#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/all_or_none.hpp"
#include "host_streams.hpp"
#include "nccl_streams.hpp"
#include "process_id.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr const char* kFailure = "cannot attach a GPU";

/// A rank's GPU, and the options that have to be equal on all ranks.
struct Report {
  GpuLocation location{};
  int device = 0;  // as its process counts
  ProcessId process{};
  bool uses_nccl = true;
  bool may_share = false;
  bool is_visible = false;
};

/// Whether two ranks may share a GPU. Not ranks of one process: they take turns in NCCL, so each
/// would wait for the other.
bool may_share(const Report& one, const Report& other) {
  return one.may_share && other.may_share && !(one.process == other.process);
}

/// @return an error that names two ranks with one GPU, or nothing if no ranks share one.
/// @param allowed whether to count ranks that NCCL may allow to share one.
std::optional<Error> shared_gpu(const std::vector<Report>& all, bool allowed) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (std::size_t other = 0; other < rank; ++other)
      if (all[rank].location.uuid == all[other].location.uuid &&
          (allowed || !may_share(all[rank], all[other])))
        return Error{ErrorCode::invalid_argument,
                     "ranks " + std::to_string(other) + " and " + std::to_string(rank) +
                         " have the same GPU; give each rank its own, such as by "
                         "cudaSetDevice(local rank) before",
                     static_cast<Rank>(rank)};
  return std::nullopt;
}

/// @param connect is collective. NCCL 2.30 rejects ranks that share a GPU unless the environment
/// allows it, but does not name them.
std::shared_ptr<StreamTransport> connect_nccl(
    const std::vector<Report>& all,
    const std::function<std::shared_ptr<StreamTransport>()>& connect) {
  if (const auto rejected = shared_gpu(all, false)) throw Error{*rejected};
  try {
    return connect();
  } catch (const Error& error) {
    const auto shared = shared_gpu(all, true);
    if (!shared) throw;
    throw Error{
        shared->code(),
        shared->what() + std::string{", or set NCCL_MULTI_RANK_GPU_ENABLE=1: "} + error.what(),
        shared->culprit()};
  }
}

bool uses_nccl(const AttachOptions& options) {
  if (options.transport != "nccl" && options.transport != "host")
    throw Error{ErrorCode::invalid_argument, "messages of GPUs do not go by '" +
                                                 std::string{options.transport} +
                                                 "'; say \"nccl\" or \"host\""};
  return options.transport == "nccl";
}

/// Throws on all ranks if options differ, since ranks that continue differently would wait for each
/// other.
void require_alike(const std::vector<Report>& all) {
  const auto mode = [](const Report& report) {
    return std::string{report.uses_nccl ? "by 'nccl' " : "by 'host' "} +
           (report.is_visible ? "with visible memory" : "without visible memory");
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (mode(all[rank]) != mode(all.front()))
      throw Error{ErrorCode::mismatch,
                  "rank " + std::to_string(rank) + " attaches its GPU " + mode(all[rank]) +
                      ", and rank 0 " + mode(all.front()) + "; all ranks must say the same",
                  static_cast<Rank>(rank)};
}

std::shared_ptr<StreamTransport> attached_streams(Communicator& world) {
  if (auto streams = streams_of(world)) return streams;
  throw Error{ErrorCode::invalid_argument,
              "no GPU is attached to this communicator; call tutti::cuda::attach"};
}

}  // namespace

int current_device() {
  return Driver{}.choose(-1);
}

void attach(Communicator& world, const AttachOptions& options) {
  detail::BatchScope::reject("attaching a GPU");
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Nccl> nccl;
  Report own;
  const detail::Exchange exchange = detail::exchange_over(world, Duration{0});
  const auto report = [&] {
    own.uses_nccl = uses_nccl(options);
    own.is_visible = options.visible;
    if (options.timeout <= Duration::zero())
      throw Error{ErrorCode::invalid_argument, "the timeout must be more than zero"};
    const auto driver = std::make_shared<const Driver>();
    device = std::make_shared<const Device>(driver, driver->choose(options.device));
    own.location = location_of(*device);
    own.device = device->ordinal();
    own.process = this_process();
    if (own.uses_nccl) nccl = std::make_shared<const Nccl>();
    own.may_share = nccl && nccl->may_share_gpus();
    if (nccl && options.nonblocking) nccl->check_nonblocking();
    return own;
  };
  const std::vector<Report> all = detail::all_or_none(exchange, report, kFailure);
  require_alike(all);
  std::vector<GpuLocation> locations;
  for (const Report& each : all) locations.push_back(each.location);
  const GpuPlacement placement = placement_of(locations, hosts_of(world));
  std::shared_ptr<StreamTransport> streams;
  if (own.uses_nccl) {
    const auto share = [&] {
      for (const Report& each : all)
        if (each.process == own.process) device->share_pool(each.device);
    };
    const auto connect = [&] {
      detail::all_or_none(exchange, share, kFailure);
      return NcclStreams::connect(
          world,
          {{nccl, device, options.timeout, options.nonblocking}, placement, options.visible});
    };
    streams = connect_nccl(all, connect);
  } else
    streams = HostStreams::connect(world, {device, options.timeout, placement, options.visible});
  attach_streams(world, std::move(streams), options.compare_calls);
}

void wait(Communicator& world, Stream stream, Duration timeout) {
  wait_for_stream(world, stream, timeout);
}

std::shared_ptr<std::byte> allocate_bytes(Communicator& world, std::size_t bytes) {
  detail::BatchScope::reject("allocating memory of a GPU");
  if (bytes == 0) return nullptr;
  return attached_streams(world)->allocate_registered(bytes);
}

}  // namespace tutti::v0::cuda
