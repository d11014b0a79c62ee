/// @file
/// How a communicator is made of a transport.
#pragma once

#include <memory>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/sole_caller.hpp>
#include <tutti/spi/streams.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {

/// Makes a communicator that can be divided. @param footing its ranks. @param memory where its
/// buffers lie. @param options equal on all ranks. @return the communicator. Throws
/// Error{invalid_argument} for options that are wrong.
[[nodiscard]] TUTTI_API Communicator make_communicator(CommunicatorParts communicator_parts,
                                                       std::shared_ptr<Memory> memory,
                                                       const CommunicatorOptions& options = {});
/// Makes a communicator. @param transport connects its ranks. @param memory where its buffers lie.
/// @param options equal on all ranks. @return the communicator. Throws as above.
[[nodiscard]] TUTTI_API Communicator make_communicator(std::unique_ptr<Transport> transport,
                                                       std::shared_ptr<Memory> memory,
                                                       const CommunicatorOptions& options = {});

/// Has a communicator take calls with Options::stream. @param communicator of ranks, each of which
/// does the same. Its groups and splits take them too, by StreamTransport::divide. @param streams
/// what such calls are enqueued on; not null. @param compares whether ranks compare over the host's
/// transport what they call, before it is enqueued; equal on all ranks. Throws
/// Error{invalid_argument} where the communicator is empty, or something is attached to it already.
TUTTI_API void attach_streams(Communicator& communicator, std::shared_ptr<StreamTransport> streams,
                              bool compares = false);
/// As Communicator::duplicate, but what it makes takes no calls on streams, whatever was attached.
/// @param communicator of ranks. @param options and @param key likewise. @return it. Throws
/// likewise.
[[nodiscard]] TUTTI_API Communicator duplicate_for_host(Communicator& communicator,
                                                        const CommunicatorOptions& options,
                                                        std::uint64_t key);
/// @param communicator of ranks. @return what was attached, or null. Throws likewise.
[[nodiscard]] TUTTI_API std::shared_ptr<StreamTransport> streams_of(Communicator& communicator);

/// Waits until a stream has done all that was enqueued on it. Where another rank fails, or the
/// timeout passes, all that is under way is aborted, and the communicator has failed.
/// @param communicator that has streams. @param stream of its calls. @param timeout how long.
/// Throws Error{invalid_argument, timeout, peer_dead, transport}.
TUTTI_API void wait_for_stream(Communicator& communicator, Stream stream, Duration timeout);

/// @param communicator of ranks. @return on which host each rank is, as CommunicatorParts::hosts.
/// Throws Error{invalid_argument} where the communicator is empty.
[[nodiscard]] TUTTI_API const std::vector<int>& hosts_of(Communicator& communicator);

/// @param communicator of ranks. @return the transport underneath. Throws Error{invalid_argument}
/// where the communicator is empty.
[[nodiscard]] TUTTI_API Transport& transport_of(Communicator& communicator);

}  // namespace tutti::v0
