#include "host_connect.hpp"

#include <optional>
#include <string>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "base/all_or_none.hpp"
#include "connect_peers.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr const char* kFailure = "cannot move memory of its GPU over the host";

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
  const detail::Exchange exchange = detail::exchange_over(world, Duration{0});
  std::optional<Communicator> second;
  const auto prepare = [&] {
    parts.device->require_stream_operations();
    second.emplace(second_of(world));
  };
  detail::all_or_none(exchange, prepare, kFailure);
  HostStreams::Parts all = parts;
  if (parts.is_visible) all.peers = peers_or_none(world, parts);
  std::shared_ptr<HostStreams> streams;
  const auto make = [&] {
    streams = std::make_shared<HostStreams>(all, std::move(*second), staging_plan(world.size()));
  };
  detail::all_or_none(exchange, make, kFailure);
  return streams;
}

}  // namespace tutti::v0::cuda
