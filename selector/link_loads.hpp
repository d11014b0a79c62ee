/// @file
/// Loads of a network's links by messages that travel together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tutti/types.hpp>

#include "topology/routes.hpp"

namespace tutti::v0 {

/// The time of messages of a round on the links of their paths.
struct Crossing {
  Femtoseconds bytes = 0;     ///< On the fullest link, if a unit is a byte.
  Femtoseconds messages = 0;  ///< On the link that messages occupy longest.
  Femtoseconds latency = 0;   ///< Latency of the longest path.
};

/// @return the maximum of each member.
[[nodiscard]] Crossing most_of(const Crossing& a, const Crossing& b) noexcept;

/// The loads of links, in the current round and in all rounds.
class LinkLoads {
 public:
  /// @param topology must outlive this. @param routes through it; must outlive this.
  LinkLoads(const Topology& topology, Routes& routes);

  /// Adds a message to the round. @param units its size.
  void add(Rank from, Rank to, std::int64_t units);
  /// As add, and stores the path. @return the number of the message, for crossing().
  std::size_t add_kept(Rank from, Rank to, std::int64_t units);
  /// @param kept a message of add_kept. @return its time, once all messages of the round were
  /// added.
  [[nodiscard]] Crossing crossing(std::size_t kept) const;
  /// @return the maximum over the links and messages of the round.
  [[nodiscard]] Crossing most() const;
  /// Begins the next round.
  void end_round();
  /// @return the maximum over links of their loads in all rounds, without latency.
  [[nodiscard]] const Crossing& fullest() const noexcept { return fullest_; }

 private:
  struct Load {
    std::int64_t units = 0;
    std::int64_t messages = 0;
  };
  [[nodiscard]] const LinkSpeed& speed(int channel) const {
    return topology_.links()[static_cast<std::size_t>(channel / 2)].speed;
  }
  void widen(Crossing& crossing, int channel, const Load& load) const;

  const Topology& topology_;
  Routes& routes_;
  std::vector<Load> now_, ever_;  // by channel
  std::vector<int> used_{}, path_{};
  std::vector<int> kept_{};          // channels of the stored paths
  std::vector<std::size_t> ends_{};  // of each stored path
  Femtoseconds latency_ = 0;         // of the longest path of the round
  Crossing fullest_{};
};

/// Facts of a network that the profiles of all choices share: routes, and rounds in which each rank
/// sends to the one at a fixed distance. For one thread at a time, which holds mutex().
class NetworkMemory {
 public:
  /// @return the mutex that a thread holds while it uses this.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  /// Sets the network, and clears the facts of another one. @param topology of hosts; copied.
  void prepare(const Topology& topology, Routing routing);
  /// @return the network that was prepared.
  [[nodiscard]] const Topology& topology() const noexcept { return *topology_; }
  /// @return routes through it.
  [[nodiscard]] Routes& routes() noexcept { return *routes_; }
  /// @return whether each host has one link, all of one speed, to the only switch.
  [[nodiscard]] bool is_one_switch() const noexcept { return is_one_switch_; }
  /// @param size number of ranks. @param shift rank r sends one unit to rank (r + shift) % size.
  /// @param loads of this network, between two rounds. @return LinkLoads::most of that round.
  [[nodiscard]] const Crossing& shifted(int size, Rank shift, LinkLoads& loads);

 private:
  std::mutex mutex_{};
  std::optional<Topology> topology_{};
  Routing routing_{};
  std::optional<Routes> routes_{};
  bool is_one_switch_ = false;
  std::map<std::pair<int, Rank>, Crossing> shifted_{};  // by number of ranks and shift
};

}  // namespace tutti::v0
