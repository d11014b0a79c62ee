// The public entry points.
#include <tutti/batch.hpp>
#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include <string>
#include <utility>
#include <vector>

#include "base/all_or_none.hpp"
#include "host_connect.hpp"
#include "nccl_streams.hpp"
#include "shared_regions.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr const char* kFailure = "cannot attach a GPU";

/// The GPU of a rank and its options, for all ranks.
struct Report {
  Place place{};            // of its GPU
  int device = 0;           // as its process counts
  ProcessId process{};
  bool takes_nccl = true;   // whether its messages go by NCCL
  bool is_visible = false;  // whether peers are to see its memory
};

void require_distinct(const std::vector<Report>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (std::size_t other = 0; other < rank; ++other)
      if (all[rank].place.uuid == all[other].place.uuid)
        throw Error{ErrorCode::invalid_argument,
                    "ranks " + std::to_string(other) + " and " + std::to_string(rank) +
                        " have the same GPU; give each rank its own, such as by "
                        "cudaSetDevice(local rank) before",
                    static_cast<Rank>(rank)};
}

/// @return whether messages go by NCCL, and else over the host.
bool takes_nccl(const Options& options) {
  if (options.transport != "nccl" && options.transport != "host")
    throw Error{ErrorCode::invalid_argument, "messages of GPUs do not go by '" +
                                                 std::string{options.transport} +
                                                 "'; say \"nccl\" or \"host\""};
  return options.transport == "nccl";
}

[[noreturn]] void reject_difference(std::size_t rank, const std::string& own,
                                    const std::string& first) {
  throw Error{ErrorCode::mismatch,
              "rank " + std::to_string(rank) + " attaches its GPU " + own + ", and rank 0 " +
                  first + "; all ranks must say the same",
              static_cast<Rank>(rank)};
}

/// Ranks that go on differently would wait for each other.
void require_alike(const std::vector<Report>& all) {
  const auto by = [](const Report& report) {
    return report.takes_nccl ? "by 'nccl'" : "by 'host'";
  };
  const auto with = [](const Report& report) {
    return report.is_visible ? "with visible memory" : "without visible memory";
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].takes_nccl != all.front().takes_nccl)
      reject_difference(rank, by(all[rank]), by(all.front()));
    if (all[rank].is_visible != all.front().is_visible)
      reject_difference(rank, with(all[rank]), with(all.front()));
  }
}

std::shared_ptr<StreamTransport> streams_or_refusal(Communicator& world) {
  if (auto streams = streams_of(world)) return streams;
  throw Error{ErrorCode::invalid_argument,
              "no GPU is attached to this communicator; call tutti::cuda::attach"};
}

}  // namespace

void attach(Communicator& world, const Options& options) {
  detail::BatchScope::reject("attaching a GPU");
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Nccl> nccl;
  Report own;
  const detail::Exchange exchange = detail::exchange_over(world, Duration{0});
  const auto report = [&] {
    own.takes_nccl = takes_nccl(options);
    own.is_visible = options.visible;
    if (options.timeout <= Duration::zero())
      throw Error{ErrorCode::invalid_argument, "the timeout must be more than zero"};
    const auto driver = std::make_shared<const Driver>();
    device = std::make_shared<const Device>(driver, driver->choose(options.device));
    own.place = place_of(*device);
    own.device = device->ordinal();
    own.process = this_process();
    if (own.takes_nccl) nccl = std::make_shared<const Nccl>();
    if (nccl && options.nonblocking) nccl->check_nonblocking();
    return own;
  };
  const std::vector<Report> all = detail::all_or_none(exchange, report, kFailure);
  require_alike(all);
  std::vector<Place> places_of_gpus;
  for (const Report& one : all) places_of_gpus.push_back(one.place);
  const Places places = places_of(places_of_gpus, hosts_of(world));
  std::shared_ptr<StreamTransport> streams;
  if (own.takes_nccl) {
    require_distinct(all);
    const auto share = [&] {
      for (const Report& one : all)
        if (one.process == own.process) device->share_pool(one.device);
    };
    detail::all_or_none(exchange, share, kFailure);
    streams = NcclStreams::connect(
        world, {{nccl, device, options.timeout, options.nonblocking}, places, options.visible});
  } else streams = connect_host(world, {device, options.timeout, places, options.visible});
  attach_streams(world, std::move(streams), options.compare_calls);
}

void wait(Communicator& world, Stream stream, Duration timeout) {
  wait_for_stream(world, stream, timeout);
}

std::shared_ptr<std::byte> allocate_bytes(Communicator& world, std::size_t bytes) {
  detail::BatchScope::reject("allocating memory of a GPU");
  if (bytes == 0) return nullptr;
  return streams_or_refusal(world)->allocate_registered(bytes);
}

}  // namespace tutti::v0::cuda
