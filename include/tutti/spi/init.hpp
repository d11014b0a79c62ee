/// @file
/// init for ranks with a channel or a network of their own.
#pragma once

#include <memory>
#include <string>

#include <tutti/export.hpp>
#include <tutti/init.hpp>
#include <tutti/spi/channel.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/network.hpp>

namespace tutti::v0 {

/// Connects ranks that have a channel of their own. Collective over the channel, which is not
/// needed afterwards. Variables apply as in init, except those that describe a launch: TUTTI_RANK,
/// TUTTI_SIZE, TUTTI_URL and their like. If the options or variables of one rank are wrong, all
/// ranks get its error.
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
/// @param options only the timeouts count, but all options and variables must be right.
/// @return parts without a transport. Their group makes more such, and requests the status of ranks
/// of the own host. Throws as init.
[[nodiscard]] TUTTI_API CommunicatorParts watch_ranks(Channel& channel,
                                                      const InitOptions& options = {});

/// @return the address at which the other ranks of a world reach this one, as a number: the
/// loopback if all ranks share it. Empty if it is unknown, as over an MPI. Throws
/// Error{invalid_argument} if the communicator is empty.
[[nodiscard]] TUTTI_API std::string address_of(Communicator& communicator);

/// @return a timeout of InitOptions as init reads it: the one that is given, if it is more than
/// zero, else TUTTI_TIMEOUT, else the other one. A wrong variable, which init reports on all ranks,
/// counts as none.
[[nodiscard]] TUTTI_API Duration init_timeout(Duration given,
                                              Duration otherwise = kInitTimeout) noexcept;

}  // namespace tutti::v0
