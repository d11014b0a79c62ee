// The public entry points.
#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include <string>
#include <vector>

#include "nccl_connect.hpp"

namespace tutti::inline v0::cuda {
namespace {

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

std::shared_ptr<StreamTransport> streams_or_refusal(Communicator& world) {
  if (auto streams = streams_of(world)) return streams;
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
  });
  require_distinct(agree(world, own));
  attach_streams(world, connect_nccl(world, parts), options.compare_calls);
}

void wait(Communicator& world, Stream stream, Duration timeout) {
  wait_for_stream(world, stream, timeout);
}

std::shared_ptr<std::byte> allocate_bytes(Communicator& world, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  return streams_or_refusal(world)->allocate_registered(bytes);
}

}  // namespace tutti::inline v0::cuda
