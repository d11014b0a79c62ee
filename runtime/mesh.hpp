/// @file
/// Connecting the ranks of a world: shared memory inside a host, TCP between hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/spi/channel.hpp>

#include "backends/tcp/cipher.hpp"
#include "peer_info.hpp"
#include "socket.hpp"

namespace tutti::runtime {

/// How a rank connects.
struct MeshOptions {
  bool carries_data = true;  ///< Whether TCP links carry data; on all ranks or none.
  bool only_local = false;   ///< Whether only ranks of one host connect, for control alone, so that
                             ///< no network is needed; on all ranks or none.
  std::string interface {};  ///< Interface or address to listen on; empty: tutti chooses.
  std::optional<HostAndPort> master{};  ///< Where ranks met, if anywhere: says which network.
  std::optional<Secret> secret{};       ///< What all ranks know; not needed on a private channel.
  bool insecure = false;                ///< Whether a network without a secret is allowed.
  bool tls = false;                     ///< Whether TCP links are encrypted; on all ranks or none.
  int memory = -1;                      ///< Own shared memory to offer; -1: links are all TCP.
  Agreed agreed{};                      ///< Options that must be equal on all ranks.
  Host host = this_host();              ///< Where this rank runs; tests pretend.
  std::optional<Cores> cores{};         ///< What it may use there; empty: what it may use now.
  Locality locality{};                  ///< Where that is.
  Versions versions{};                  ///< What this program speaks; tests change it.
};

/// The connection of two ranks: authenticated, non-blocking sockets, from which nothing is left to
/// be read.
struct Link {
  Rank peer = 0;         ///< Who is at the other end.
  bool local = false;    ///< Whether memory is shared, or could be; the same at both ends.
  Descriptor control{};  ///< The lifeline of a local link, of Unix; or TCP.
  Descriptor data{};     ///< TCP; none if local, or where TCP carries no data.
  Descriptor memory{};   ///< The peer's shared memory if local.
  std::shared_ptr<tcp::Cipher> control_cipher{};  ///< Of control; null if not encrypted.
  std::shared_ptr<tcp::Cipher> data_cipher{};     ///< Of data; null if not encrypted.
};

/// A connected world.
struct Mesh {
  std::uint64_t world = 0;        ///< A number that no other world has, the same on all ranks.
  std::vector<PeerInfo> infos{};  ///< What each rank says of itself.
  std::vector<Link> links{};      ///< One per other rank that was to be reached, in the order of
                                  ///< ranks.
  std::vector<Rank> memory_domains{};  ///< Per rank: the lowest of those that all share memory with
                                       ///< it and with each other. The same on all ranks.
};

/// Collective: connects every rank with every other. Ranks tell each other where they are, each
/// listens on one address (the loopback if that reaches everyone; else the one from which rank 0's
/// is reached) and on a Unix socket, and the higher rank of a pair connects to the lower: over Unix
/// if both run on one kernel, as one user, in one network namespace and have memory to offer, or
/// else over TCP. When all have come, or one has failed, everyone is told, and the listeners are
/// closed.
/// @param channel of all ranks. @param options how. @param deadline after which missing ranks are
/// reported. @return the links. Throws, on every rank that the channel still reaches, the same
/// error: Error{timeout} that names ranks and hosts, Error{peer_dead,
/// mismatch, transport, invalid_argument}.
[[nodiscard]] Mesh connect_mesh(Channel& channel, const MeshOptions& options, Deadline deadline);

}  // namespace tutti::runtime
