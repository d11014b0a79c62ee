#include "connect_peers.hpp"

#include <string>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "base/all_or_none.hpp"

namespace tutti::v0::cuda {
namespace {

/// Scratch that calls on memory of peers may acquire: vectors of this size by the number of ranks.
constexpr std::size_t kScratch = std::size_t{64} << 20U;

}  // namespace

Communicator duplicate_for_us(Communicator& world, std::uint64_t key) {
  CommunicatorOptions options = world.options();
  options.progress = {};
  options.progress_thread = false;
  return world.duplicate(options, key);
}

std::shared_ptr<DevicePeers> connect_peers(Communicator& world,
                                           const std::shared_ptr<const Device>& device,
                                           Duration patience) {
  if (world.size() == 1) return nullptr;
  if (world.size() > static_cast<int>(kPeerPlaces))
    throw SharedRegion::Unseen{
        Error{ErrorCode::transport, "more than " + std::to_string(kPeerPlaces) +
                                        " ranks do not see memory of each other's GPUs"}};
  try {
    detail::all_or_none(
        detail::exchange_over(world, Duration{0}), [&] { device->require_stream_operations(); },
        "cannot signal messages to peers");
  } catch (const Error& error) {
    throw SharedRegion::Unseen{error};
  }
  return std::make_shared<DevicePeers>(device, duplicate_for_us(world, kKeyOfOurs), kScratch,
                                       patience);
}

}  // namespace tutti::v0::cuda
