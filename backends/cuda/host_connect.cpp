#include "host_connect.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "agree.hpp"

namespace tutti::inline v0::cuda {
namespace {

/// None of a program's, and not that of splits.
constexpr std::uint64_t kKey = kKeyOfSplits - 1;
/// What calls on memory of peers may lend: vectors of so many bytes by the number of ranks.
constexpr std::size_t kPeerScratch = std::size_t{64} << 20U;
constexpr const char* kWhat = "cannot move memory of its GPU over the host";

/// The thread of streams alone calls its transport.
Communicator second_of(Communicator& world) {
  CommunicatorOptions options = world.options();
  options.progress = {};
  options.progress_thread = false;
  Communicator second = world.duplicate(options, kKey);
  const Capabilities& can = transport_of(second).capabilities();
  if (!can.threads)
    throw Error{ErrorCode::invalid_argument,
                "a thread of tutti's own would call the transport '" + can.name +
                    "', which does not allow it: an MPI needs MPI_THREAD_MULTIPLE; start it by "
                    "MPI_Init_thread"};
  return second;
}

/// @return memory that all ranks see of each other; null, on all alike, where they do not.
std::shared_ptr<DevicePeers> peers_of(Communicator& world,
                                      const std::shared_ptr<const Device>& device) {
  if (world.size() == 1 || world.size() > static_cast<int>(kPeerPlaces)) return nullptr;
  CommunicatorOptions options = world.options();
  options.progress = {};
  options.progress_thread = false;
  try {
    return std::make_shared<DevicePeers>(device, world.duplicate(options, kKey), kPeerScratch);
  } catch (const SharedRegion::Unseen&) {
    return nullptr;  // messages go over the host, as between hosts
  }
}

}  // namespace

std::shared_ptr<HostStreams> connect_host(Communicator& world, const HostStreams::Parts& parts) {
  Attempt own;
  std::optional<Communicator> second;
  own.make([&] { second.emplace(second_of(world)); });
  agree(world, own, kWhat);
  std::uint64_t direct_bytes = transport_of(*second).capabilities().device_bytes;
  world.all_reduce(std::span{&direct_bytes, 1}, max);
  HostStreams::Parts all = parts;
  all.peers = peers_of(world, parts.device);
  std::shared_ptr<HostStreams> streams;
  own.make([&] {
    streams = std::make_shared<HostStreams>(all, std::move(*second),
                                            staging_plan(world.size(), direct_bytes));
  });
  agree(world, own, kWhat);
  return streams;
}

}  // namespace tutti::inline v0::cuda
