/// @file
/// How ranks come to share a communicator of NCCL.
#pragma once

#include <memory>

#include <tutti/communicator.hpp>

#include "nccl_streams.hpp"

namespace tutti::v0::cuda {

/// Collective. @param world of ranks. @param parts of this one. @return their streams. Throws, on
/// all of them alike, what the first one says that fails.
[[nodiscard]] std::shared_ptr<NcclStreams> connect_nccl(Communicator& world,
                                                        const NcclStreams::Parts& parts);

}  // namespace tutti::v0::cuda
