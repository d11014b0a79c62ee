/// @file
/// MeshConnector: the part of connect_mesh that connects, once all addresses are known.
#pragma once

#include <poll.h>

#include <vector>

#include "base/all_or_none.hpp"
#include "runtime/meeting/acceptor.hpp"

#include "mesh.hpp"

namespace tutti::runtime {

/// The facts about all ranks that each of them has.
struct MeshPlan {
  Identity self{};
  int memory = -1;                    ///< Descriptor of the own shared memory.
  bool carries_data = true;           ///< As MeshOptions.
  bool only_local = false;            ///< As MeshOptions.
  std::vector<PeerInfo> infos{};      ///< One per rank.
  std::vector<Endpoint> addresses{};  ///< TCP addresses by rank.
  std::vector<std::string> names{};   ///< Names of Unix sockets by rank.
};

/// Another rank disconnected while the world started, or was late. It is alive, or else the channel
/// reports its death: it failed for another reason, which it reports itself.
using detail::Departure;

/// One rank's part in connecting. It listens, and owns the connections, until it is destroyed or
/// aborted.
class MeshConnector {
 public:
  /// @param plan outlives this object. @param listeners of this rank.
  MeshConnector(const MeshPlan& plan, std::vector<Listener> listeners, Deadline deadline);

  /// Connects to the lower ranks, accepts the higher ones, and waits until all peers have done the
  /// same. Throws Error, and Departure.
  void run();
  /// After an error: closes all connections, so that the other ranks do not wait for this one until
  /// the deadline but exchange the error.
  void abort() noexcept;
  /// @return a link for each connected rank, after run().
  [[nodiscard]] std::vector<MeshLink> take_links();

 private:
  /// The connections that a higher rank has opened.
  struct ArrivedLinks {
    bool local = false;
    bool control = false;
    bool data = false;
  };

  [[nodiscard]] MeshLink& link_of(Rank peer) { return links_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const PeerInfo& info_of(Rank rank) const {
    return plan_.infos[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::string name_of(Rank rank) const;
  [[nodiscard]] bool can_share_memory(Rank peer) const;
  [[nodiscard]] std::vector<Rank> missing() const;
  void connect_to_rank(Rank peer);
  bool connect_by_unix(Rank peer);
  [[nodiscard]] Descriptor connect_by_tcp(Rank peer, Purpose purpose);
  [[nodiscard]] Reason admit(const ConnectionRequest& request);
  void serve();
  void store_connection(AcceptedConnection accepted);
  bool exchange_memory(Rank peer, Descriptor socket, bool first);
  void read_links();
  void send_complete();
  [[nodiscard]] const MeshLink* incomplete_peer() const;

  const MeshPlan& plan_;
  const Deadline deadline_;
  const Deadline start_ = std::chrono::steady_clock::now();
  std::vector<MeshLink> links_;
  std::vector<ArrivedLinks> arrived_;
  std::vector<bool> complete_;  // by rank: it is connected to all of its peers
  std::optional<Acceptor> acceptor_;
  std::vector<pollfd> polled_;
};

}  // namespace tutti::runtime
