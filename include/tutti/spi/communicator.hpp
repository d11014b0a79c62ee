/// @file
/// Makes communicators of transports.
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

/// Makes a communicator that can be divided.
/// @param memory of its buffers. @param options equal on all ranks. Throws Error{invalid_argument}
/// for wrong options.
[[nodiscard]] TUTTI_API Communicator make_communicator(CommunicatorParts communicator_parts,
                                                       std::shared_ptr<Memory> memory,
                                                       const CommunicatorOptions& options = {});
/// Makes a communicator.
/// @param memory of its buffers. @param options equal on all ranks. Throws as above.
[[nodiscard]] TUTTI_API Communicator make_communicator(std::unique_ptr<Transport> transport,
                                                       std::shared_ptr<Memory> memory,
                                                       const CommunicatorOptions& options = {});

/// Lets a communicator accept calls with Options::stream. Every rank calls this. Groups and splits
/// accept them too, by StreamTransport::divide.
/// @param streams enqueues such calls; not null.
/// @param compares whether ranks compare their calls over the host's transport before they are
/// enqueued; equal on all ranks. Throws Error{invalid_argument} if the communicator is empty, or
/// has streams already.
TUTTI_API void attach_streams(Communicator& communicator, std::shared_ptr<StreamTransport> streams,
                              bool compares = false);
/// As Communicator::duplicate, but the result accepts no calls on streams.
[[nodiscard]] TUTTI_API Communicator duplicate_for_host(Communicator& communicator,
                                                        const CommunicatorOptions& options,
                                                        std::uint64_t key);
/// @return the attached streams, or null. Throws as attach_streams.
[[nodiscard]] TUTTI_API std::shared_ptr<StreamTransport> streams_of(Communicator& communicator);

/// Waits until a stream has done all enqueued work. If another rank fails, or the timeout passes,
/// all work under way is aborted, and the communicator has failed.
/// @param stream of its calls. Throws Error{invalid_argument, timeout, peer_dead, transport}.
TUTTI_API void wait_for_stream(Communicator& communicator, Stream stream, Duration timeout);

/// @return the host of each rank, as CommunicatorParts::hosts. Throws Error{invalid_argument} if
/// the communicator is empty.
[[nodiscard]] TUTTI_API const std::vector<int>& hosts_of(Communicator& communicator);

/// @return its Group, or null. Throws Error{invalid_argument} if the communicator is empty.
[[nodiscard]] TUTTI_API Group* group_of(Communicator& communicator);

/// @return the transport underneath. Throws Error{invalid_argument} if the communicator is empty.
[[nodiscard]] TUTTI_API Transport& transport_of(Communicator& communicator);

}  // namespace tutti::v0
