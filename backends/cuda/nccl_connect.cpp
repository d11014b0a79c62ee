#include "nccl_connect.hpp"

#include "agree.hpp"
#include "connect_peers.hpp"

namespace tutti::inline v0::cuda {
namespace {

constexpr const char* kAttach = "cannot attach a GPU";

}  // namespace

std::shared_ptr<NcclStreams> connect_nccl(Communicator& world, const NcclStreams::Parts& parts) {
  Attempt own;
  ncclUniqueId id{};
  if (world.rank() == 0)
    own.make([&] { parts.nccl->check(parts.nccl->calls().unique_id(&id), "start NCCL"); });
  id = agree(world, own, id, kAttach).front();
  NcclStreams::Parts all = parts;
  if (parts.is_visible) all.peers = connect_peers(world, parts.device, parts.timeout);
  std::shared_ptr<NcclStreams> streams;
  own.make([&] { streams = std::make_shared<NcclStreams>(all, id, world.rank(), world.size()); });
  agree(world, own, kAttach);
  return streams;
}

}  // namespace tutti::inline v0::cuda
