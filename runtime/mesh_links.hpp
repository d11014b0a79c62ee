/// @file
/// The part of connect_mesh that connects, when it is known who is where.
#pragma once

#include <poll.h>

#include <vector>

#include "acceptor.hpp"
#include "base/all_or_none.hpp"
#include "mesh.hpp"

namespace tutti::runtime {

/// What every rank knows of every rank.
struct MeshPlan {
  Identity self{};                    ///< Who this is.
  int memory = -1;                    ///< Own shared memory to offer.
  bool carries_data = true;           ///< As MeshOptions.
  bool only_local = false;            ///< As MeshOptions.
  std::vector<PeerInfo> infos{};      ///< One per rank.
  std::vector<Endpoint> addresses{};  ///< Where each listens for TCP.
  std::vector<std::string> names{};   ///< Where each listens for Unix.
};

/// Another rank left while the world started, or was late. It has not died, since then the channel
/// reports it: it left for a reason of its own, which it sends to the others.
using detail::Departure;

/// One rank's part in connecting. Until it is destroyed or leaves it listens, and keeps what is
/// connected.
class Connecting {
 public:
  /// @param plan who is where; lives as long as this object. @param listeners own, listening.
  /// @param deadline at which to give up.
  Connecting(const MeshPlan& plan, std::vector<Listener> listeners, Deadline deadline);

  /// Connects to the lower ranks and is connected to by the higher ones, and waits until all of its
  /// peers have done the same. Throws Error, and Departure.
  void run();
  /// After an error: lets go of all that is connected, so that the other ranks do not wait for this
  /// one until the deadline, but come to be told why.
  void leave() noexcept;
  /// @return a link per other rank that was to be reached, after run().
  [[nodiscard]] std::vector<Link> take();

 private:
  /// What a higher rank has opened so far.
  struct ArrivedLinks {
    bool local = false;
    bool control = false;
    bool data = false;
  };

  [[nodiscard]] Link& link_of(Rank peer) { return links_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const PeerInfo& info_of(Rank rank) const {
    return plan_.infos[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::string name_of(Rank rank) const;
  [[nodiscard]] bool may_share(Rank peer) const;
  [[nodiscard]] std::vector<Rank> missing() const;
  void reach(Rank peer);
  bool reach_locally(Rank peer);
  [[nodiscard]] Descriptor reach_by_network(Rank peer, Purpose purpose);
  [[nodiscard]] Reason admit(const ConnectionRequest& who);
  void serve();
  void seat(Accepted accepted);
  bool exchange_memory(Rank peer, Descriptor socket, bool first);
  void read_links();
  void send_complete();
  [[nodiscard]] const Link* incomplete_peer() const;

  const MeshPlan& plan_;
  const Deadline deadline_;
  const Deadline start_ = std::chrono::steady_clock::now();
  std::vector<Link> links_;
  std::vector<ArrivedLinks> arrived_;
  std::vector<bool> complete_;  // per rank: whether it is connected to all of its peers
  std::optional<Acceptor> acceptor_;
  std::vector<pollfd> polled_;
};

}  // namespace tutti::runtime
