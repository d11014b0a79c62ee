/// @file
/// init for ranks with a channel or a network of their own.
#pragma once

#include <memory>

#include <tutti/export.hpp>
#include <tutti/init.hpp>
#include <tutti/spi/channel.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/network.hpp>

namespace tutti::v0 {

/// Connects ranks that have a channel of their own. Collective over the channel, which is not
/// needed afterwards. Of the environment, only TUTTI_TUNING and TUTTI_TOPOLOGY are read.
/// @param options without url, rank and size.
/// @return the communicator of all ranks. Throws as init.
[[nodiscard]] TUTTI_API Communicator init(Channel& channel, const InitOptions& options = {});
/// As above, with another network instead of TCP, which then carries failure reports only; or
/// beside TCP, so that each call takes the one that is predicted to be faster, by measurements at
/// the start.
/// @param options its transport must be "auto", or "fastest" for both networks.
/// @param network sends messages between hosts; of the same kind on all ranks.
/// @return the communicator of all ranks. Throws as init.
[[nodiscard]] TUTTI_API Communicator init(Channel& channel, const InitOptions& options,
                                          std::shared_ptr<Network> network);

/// For interfaces whose programs may exit with communicators that are not destroyed: the process
/// leaves its worlds as it does when they are. Their calls fail from then on. Does nothing in a
/// forked child.
TUTTI_API void leave_worlds() noexcept;

/// For other transports: ranks of one host notice at once when one of them ends, and communicators
/// fail on all ranks. Collective over the channel. Uses no network.
/// @param options only the timeouts count.
/// @return parts without a transport. Their group makes more such, and requests the status of ranks
/// of the own host. Throws as init.
[[nodiscard]] TUTTI_API CommunicatorParts watch_ranks(Channel& channel,
                                                      const InitOptions& options = {});

}  // namespace tutti::v0
