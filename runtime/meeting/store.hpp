/// @file
/// The store: a Channel over sockets. Rank 0 listens at a known address; the others connect to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <tutti/spi/channel.hpp>

#include "runtime/security/authenticate.hpp"
#include "runtime/sockets/address.hpp"

namespace tutti::runtime {

class FolderNote;

/// The options of a rank's channel.
struct StoreOptions {
  Rank rank = 0;
  int size = 1;
  HostAndPort address{};     ///< The address of rank 0; port 0 is any, for rank 0 only.
  std::string local_name{};  ///< Or the abstract Unix socket of rank 0.
  std::string folder{};      ///< Or the folder of rank 0's note with both: see meet_in_folder.
  std::string interface {};  ///< Rank 0: listen on this interface or address instead.
  std::uint64_t job = 0;     ///< Ranks of other jobs are refused.
  std::optional<Secret> secret{};    ///< See secret.hpp.
  bool is_secret_generated = false;  ///< Whether rank 0 generated it, for its note in a folder.
  bool insecure = false;             ///< Whether a network without a secret is allowed.
  std::string host{};                ///< The name of this host in errors; empty: the system's.
  /// Rank 0: the hosts of all ranks, until they have connected; empty: unknown.
  std::vector<std::string> hosts{};
  Versions versions{};  ///< Tests change it.
  /// Rank 0 of a folder: its note, removed when all ranks have connected.
  std::shared_ptr<FolderNote> note{};
  /// Rank 0: called with the port that it listens on.
  std::function<void(std::uint16_t)> listening{};
};

[[nodiscard]] Identity identity_of(const StoreOptions& options);

/// @return the address at which the ranks meet.
[[nodiscard]] std::string url_of(const StoreOptions& options);

/// Opens the store. On return rank 0 listens; the others connect in their first all_gather, and try
/// again until its deadline. The earliest deadline of all ranks applies to an all_gather. When all
/// ranks have connected, rank 0 stops listening.
///
/// All ranks throw the same error if ranks are missing at the deadline (Error{timeout} that lists
/// them) or one disconnects (Error{peer_dead}). A rank of another world (wrong secret, job, size,
/// version, duplicate) throws Error{mismatch} at once, without an effect on the others; so does a
/// second rank 0 at a Unix socket. But if it is a RefusedPeer, and no other rank takes its place,
/// all ranks throw an Error{mismatch} that names it half a second later. After an error the channel
/// throws the same error again.
///
/// @param deadline of looking up the host. Throws Error{invalid_argument, transport, mismatch} that
/// contains the address.
[[nodiscard]] std::unique_ptr<Channel> open_store(StoreOptions options, Deadline deadline);

/// For launchers: notifies rank 0 that another rank has ended, so that no rank waits for it any
/// longer. Does nothing if rank 0 does not wait for it. @param options of the rank that has ended.
/// @param how such as "exited with status 0". @return whether rank 0 took the notice; it stops
/// listening then. Throws Error{transport, timeout} if the host cannot be looked up.
bool send_end_notice(const StoreOptions& options, std::string_view how, Deadline deadline);

}  // namespace tutti::runtime
