/// @file
/// Connecting the ranks of a world: shared memory inside a host, TCP between hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/spi/channel.hpp>

#include "backends/tcp/cipher.hpp"
#include "runtime/meeting/peer_info.hpp"
#include "runtime/sockets/socket.hpp"

namespace tutti::runtime {

/// The options of a rank's connections.
struct MeshOptions {
  bool carries_data = true;  ///< Whether TCP links carry data; equal on all ranks.
  /// Whether only ranks of one host connect, with control connections alone, which need no network;
  /// equal on all ranks.
  bool only_local = false;
  std::string interface {};  ///< Interface or address to listen on; empty: tutti chooses.
  std::optional<HostAndPort>
      master{};                    ///< The meeting place, if there is one: selects the network.
  std::optional<Secret> secret{};  ///< The job's secret; not needed on a private channel.
  bool insecure = false;           ///< Whether a network without a secret is allowed.
  bool tls = false;                ///< Whether TCP links are encrypted; equal on all ranks.
  int memory = -1;                 ///< Descriptor of the own shared memory; -1: all links are TCP.
  Agreed agreed{};                 ///< Options that must be equal on all ranks.
  Host host = this_host();         ///< The host of this rank; tests change it.
  std::optional<Cores> cores{};    ///< The cores of this rank; empty: looked up.
  Locality locality{};             ///< The locality of the cores.
  Versions versions{};             ///< Tests change it.
};

/// The connection of two ranks: authenticated, non-blocking sockets without unread input.
struct MeshLink {
  Rank peer = 0;         ///< The rank at the other end.
  bool local = false;    ///< Whether both ranks run on one host; equal at both ends.
  Descriptor control{};  ///< A Unix socket for a local link, or else TCP.
  Descriptor data{};     ///< TCP; none for a local link, or where TCP carries no data.
  Descriptor memory{};   ///< The peer's shared memory, for a local link.
  std::shared_ptr<tcp::Cipher> control_cipher{};  ///< For control; null if not encrypted.
  std::shared_ptr<tcp::Cipher> data_cipher{};     ///< For data; null if not encrypted.
};

/// A connected world.
struct Mesh {
  std::uint64_t world = 0;        ///< The id of the world, equal on all ranks.
  std::vector<PeerInfo> infos{};  ///< By rank.
  std::vector<MeshLink> links{};  ///< One for each connected rank, in their order.
  /// By rank: the lowest of the ranks that all share memory with it and with each other. Equal on
  /// all ranks.
  std::vector<Rank> memory_domains{};
};

/// Collective: connects every two ranks. Each rank listens on one address (the loopback if all
/// ranks can reach it, or else the one from which packets to rank 0 leave) and on a Unix socket;
/// the ranks exchange these, and the higher rank of a pair connects to the lower: over Unix if both
/// run on one kernel, as one user, in one network namespace and with memory to share, or else over
/// TCP. When all ranks are connected, or one has failed, all ranks exchange the result and close
/// their listeners.
/// @param deadline after which missing ranks are reported. Throws the same error on every rank that
/// the channel still reaches: Error{timeout} with ranks and hosts, Error{peer_dead, mismatch,
/// transport, invalid_argument}.
[[nodiscard]] Mesh connect_mesh(Channel& channel, const MeshOptions& options, Deadline deadline);

}  // namespace tutti::runtime
