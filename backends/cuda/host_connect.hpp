/// @file
/// How ranks come to call on streams over the host's transport.
#pragma once

#include <memory>

#include <tutti/communicator.hpp>

#include "host_streams.hpp"

namespace tutti::v0::cuda {

/// Collective. @param world of ranks, of which a second communicator is made for messages of
/// streams. @param parts of this one. @return their streams. Throws, on all of them alike, what the
/// first one says that fails: Error{invalid_argument} where the communicator cannot be divided, or
/// its transport may not be called by a thread of ours; Error{transport}.
[[nodiscard]] std::shared_ptr<HostStreams> connect_host(Communicator& world,
                                                        const HostStreams::Parts& parts);

}  // namespace tutti::v0::cuda
