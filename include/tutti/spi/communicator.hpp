/// @file
/// How a communicator is made of a transport.
#pragma once

#include <memory>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::inline v0 {

/// Makes a communicator that can be divided. @param footing its ranks. @param memory where its
/// buffers lie. @param options equal on all ranks. @return the communicator. Throws
/// Error{invalid_argument} for options that are wrong.
[[nodiscard]] TUTTI_API Communicator make_communicator(Footing footing,
                                                       std::shared_ptr<Memory> memory,
                                                       const CommunicatorOptions& options = {});
/// Makes a communicator. @param transport connects its ranks. @param memory where its buffers lie.
/// @param options equal on all ranks. @return the communicator. Throws as above.
[[nodiscard]] TUTTI_API Communicator make_communicator(std::unique_ptr<Transport> transport,
                                                       std::shared_ptr<Memory> memory,
                                                       const CommunicatorOptions& options = {});

/// @param communicator of ranks. @return the transport underneath. Throws Error{invalid_argument}
/// where the communicator is empty.
[[nodiscard]] TUTTI_API Transport& transport_of(Communicator& communicator);

}  // namespace tutti::inline v0
