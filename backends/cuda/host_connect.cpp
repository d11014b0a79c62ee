#include "host_connect.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "agree.hpp"
#include "connect_peers.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr const char* kWhat = "cannot move memory of its GPU over the host";

/// The thread of streams alone calls its transport.
Communicator second_of(Communicator& world) {
  Communicator second = duplicate_for_us(world, kKeyOfOurs);
  const Capabilities& can = transport_of(second).capabilities();
  if (!can.threads)
    throw Error{ErrorCode::invalid_argument,
                "a thread of tutti's own would call the transport '" + can.name +
                    "', which does not allow it: an MPI needs MPI_THREAD_MULTIPLE; start it by "
                    "MPI_Init_thread"};
  return second;
}

/// Where ranks do not see each other's memory messages go over the host, as between hosts.
std::shared_ptr<DevicePeers> peers_or_none(Communicator& world, const HostStreams::Parts& parts) {
  try {
    return connect_peers(world, parts.device, parts.timeout);
  } catch (const SharedRegion::Unseen&) {
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<HostStreams> connect_host(Communicator& world, const HostStreams::Parts& parts) {
  Attempt own;
  std::optional<Communicator> second;
  std::uint64_t direct_bytes = Capabilities{}.device_bytes;
  own.make([&] {
    parts.device->require_stream_operations();
    second.emplace(second_of(world));
    // A device that may not see what an adapter writes takes nothing but copies.
    if (parts.device->remote_writes() != Device::RemoteWrites::unordered)
      direct_bytes = transport_of(*second).capabilities().device_bytes;
  });
  agree(world, own, kWhat);
  world.all_reduce(std::span{&direct_bytes, 1}, max);
  HostStreams::Parts all = parts;
  if (parts.is_visible) all.peers = peers_or_none(world, parts);
  std::shared_ptr<HostStreams> streams;
  own.make([&] {
    streams = std::make_shared<HostStreams>(all, std::move(*second),
                                            staging_plan(world.size(), direct_bytes));
  });
  agree(world, own, kWhat);
  return streams;
}

}  // namespace tutti::v0::cuda
