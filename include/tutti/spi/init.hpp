/// @file
/// The ways in for ranks that know each other already, and for networks of one's own.
#pragma once

#include <memory>

#include <tutti/export.hpp>
#include <tutti/init.hpp>
#include <tutti/spi/channel.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/network.hpp>

namespace tutti::v0 {

/// Connects ranks that have a way of their own to say a few words to each other. Collective over
/// the channel, which is not needed afterwards. Of the environment only TUTTI_TUNING and
/// TUTTI_TOPOLOGY are asked.
/// @param channel of all ranks. @param options see InitOptions; not its url, rank and size.
/// @return the communicator of all ranks. Throws as init.
[[nodiscard]] TUTTI_API Communicator init(Channel& channel, const InitOptions& options = {});
/// As above, with a network of one's own in place of TCP, which then carries only what ranks tell
/// each other of failures; or beside it, where each call takes the one that is predicted to be
/// faster for it, by what both were measured to take. @param channel of all ranks. @param options
/// see InitOptions; its transport must be "auto", or "fastest" to have both. @param network carries
/// messages between hosts; of the same kind on all ranks. @return the communicator of all ranks.
/// Throws as init.
[[nodiscard]] TUTTI_API Communicator init(Channel& channel, const InitOptions& options,
                                          std::shared_ptr<Network> network);

/// For transports of one's own: ranks of one host learn at once when one of them ends, and by what
/// communicators fail. Collective over the channel. No network is used. @param channel of all
/// ranks. @param options see InitOptions, of which the timeouts count. @return a footing without a
/// transport, whose group makes more such, and can be asked what ranks of the own host do. Throws
/// as init.
[[nodiscard]] TUTTI_API CommunicatorParts watch_ranks(Channel& channel,
                                                      const InitOptions& options = {});

}  // namespace tutti::v0
