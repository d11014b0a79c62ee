/// @file
/// The store: a Channel over sockets. Rank 0 listens at a known address, the others come to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <tutti/spi/channel.hpp>

#include "address.hpp"
#include "authenticate.hpp"

namespace tutti::runtime {

class FolderNote;

/// How a rank comes to the store.
struct StoreOptions {
  Rank rank = 0;                   ///< The own rank.
  int size = 1;                    ///< The number of ranks.
  HostAndPort address{};           ///< Where rank 0 listens; port 0 is any, for rank 0 only.
  std::string local_name{};        ///< Or the abstract Unix socket at which it does.
  std::string folder{};            ///< Or where it leaves a note of both: see meet_in_folder.
  std::string interface {};        ///< Rank 0: the interface or address to listen on instead.
  std::uint64_t job = 0;           ///< Ranks of other jobs are refused.
  std::optional<Secret> secret{};  ///< What all ranks know, see secret.hpp.
  bool is_secret_drawn = false;    ///< Whether rank 0 drew it, for its note in a folder.
  bool insecure = false;           ///< Whether a network without a secret is allowed.
  std::string host{};  ///< What this host is called where missing ranks are named; empty: its name.
  /// Rank 0: what the hosts of all ranks are called until they have come; empty: not known.
  std::vector<std::string> hosts{};
  Versions versions{};  ///< What this program speaks; tests change it.
  /// Rank 0 of a folder: its note, removed once all ranks have come.
  std::shared_ptr<FolderNote> note{};
  /// Called by rank 0 with the port it listens on, if it is one.
  std::function<void(std::uint16_t)> listening{};
};

/// @param options of a rank. @return who it is.
[[nodiscard]] Identity identity_of(const StoreOptions& options);

/// @param options of a store. @return the address at which its ranks meet.
[[nodiscard]] std::string url_of(const StoreOptions& options);

/// Opens the store. Rank 0 listens when this returns; the others come with their first all_gather,
/// and try again until its deadline. The earliest deadline of all ranks counts for an all_gather.
/// When rank 0 has seen every rank it stops listening.
///
/// Every rank hears the same cause when ranks are missing at the deadline (Error{timeout}: a roll
/// call) or one goes away (Error{peer_dead}). A rank that does not belong (wrong secret, job, size,
/// version, duplicate) gets an Error{mismatch} at once and disturbs nobody; so does a second rank 0
/// at a Unix socket. But if it is a RefusedPeer, and no other comes in its place, all get an
/// Error{mismatch} that names it half a second later. After an error the channel throws that error
/// again.
///
/// @param options how. @param deadline for looking up the host. @return the channel. Throws
/// Error{invalid_argument, transport, mismatch} that names the address.
[[nodiscard]] std::unique_ptr<Channel> open_store(StoreOptions options, Deadline deadline);

/// For launchers: tells rank 0 that another rank has ended, so that nobody waits for it any longer.
/// Nothing happens where rank 0 does not wait for it. @param options of the rank that has ended.
/// @param how it ended, such as "exited with status 0". @param deadline at which to give up. Throws
/// Error{transport, timeout} where the host cannot be looked up.
void tell_end(const StoreOptions& options, std::string_view how, Deadline deadline);

}  // namespace tutti::runtime
