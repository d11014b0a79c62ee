#include "nccl_connect.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "agree.hpp"
#include "connect_peers.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr const char* kAttach = "cannot attach a GPU";
/// None of a program's, nor of memory of peers, nor that of splits.
constexpr std::uint64_t kKeyOfAgreements = kKeyOfSplits - 2;

/// In which ranks agree, whatever a program does in theirs.
Communicator agreeing(Communicator& world) {
  CommunicatorOptions options = world.options();
  options.progress = {};
  options.progress_thread = false;
  return world.duplicate(options, kKeyOfAgreements);
}

}  // namespace

std::shared_ptr<NcclStreams> connect_nccl(Communicator& world, const NcclStreams::Parts& parts) {
  Attempt own;
  std::optional<Communicator> ranks;
  own.make([&] { ranks.emplace(agreeing(world)); });
  ncclUniqueId id{};
  if (world.rank() == 0)
    own.make([&] { parts.nccl->check(parts.nccl->calls().unique_id(&id), "start NCCL"); });
  id = agree(world, own, id, kAttach).front();
  NcclStreams::Parts all = parts;
  if (parts.is_visible) all.peers = connect_peers(world, parts.device, parts.timeout);
  std::shared_ptr<NcclStreams> streams;
  own.make([&] { streams = std::make_shared<NcclStreams>(all, id, std::move(*ranks)); });
  agree(world, own, kAttach);
  return streams;
}

}  // namespace tutti::v0::cuda
