#include "nccl_connect.hpp"

#include <string>

namespace tutti::inline v0::cuda {

std::vector<Report> agree(Communicator& world, const Report& own) {
  std::vector<Report> all(static_cast<std::size_t>(world.size()));
  world.all_gather(std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{all}));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].why.front() != '\0')
      throw Error{all[rank].code,
                  "rank " + std::to_string(rank) + " cannot attach a GPU: " + all[rank].why.data(),
                  static_cast<Rank>(rank)};
  return all;
}

std::shared_ptr<NcclStreams> connect_nccl(Communicator& world, const NcclStreams::Parts& parts) {
  Report own;
  if (world.rank() == 0)
    attempt(own, [&] { parts.nccl->check(parts.nccl->calls().unique_id(&own.id), "start NCCL"); });
  const std::vector<Report> all = agree(world, own);
  std::shared_ptr<NcclStreams> streams;
  attempt(own, [&] {
    streams = std::make_shared<NcclStreams>(parts, all.front().id, world.rank(), world.size());
  });
  static_cast<void>(agree(world, own));
  return streams;
}

}  // namespace tutti::inline v0::cuda
