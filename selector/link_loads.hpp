/// @file
/// What messages that are under way together take of the links of a network.
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

/// What a round's messages take of one rank.
struct Crossing {
  Femtoseconds bytes = 0;     ///< Of the fullest link on their ways, if a unit is a byte.
  Femtoseconds messages = 0;  ///< Of the link on their ways that they occupy longest.
  Femtoseconds latency = 0;   ///< Of the longest way.
};

/// @param a what one takes. @param b what another takes. @return the most of both.
[[nodiscard]] Crossing most_of(const Crossing& a, const Crossing& b) noexcept;

/// What links carry in one round, and in all.
class LinkLoads {
 public:
  /// @param topology outlives this. @param routes through it, likewise.
  LinkLoads(const Topology& topology, Routes& routes);

  /// A message of the round. @param from its sender. @param to its receiver. @param units its size.
  void add(Rank from, Rank to, std::int64_t units);
  /// As add, and remembers the way. @return its number, for crossing.
  std::size_t add_kept(Rank from, Rank to, std::int64_t units);
  /// Once all messages of the round have been added. @param kept number of one of them.
  /// @return what it takes.
  [[nodiscard]] Crossing crossing(std::size_t kept) const;
  /// @return what the round takes where it takes most.
  [[nodiscard]] Crossing most() const;
  /// The next round begins.
  void end_round();
  /// @return what the links take that carry most of all rounds, without latency.
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
  std::vector<int> kept_{};          // channels of the ways that are remembered
  std::vector<std::size_t> ends_{};  // of each of them
  Femtoseconds latency_ = 0;         // of the longest way of the round
  Crossing fullest_{};
};

/// What is found out about a network once, for all choices that are profiled on it: ways, and
/// rounds in which each rank sends to the one so many behind it. For one thread at a time, which
/// holds mutex().
class NetworkMemory {
 public:
  /// @return what a thread holds while it asks.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  /// What is remembered of another network is forgotten. @param topology of hosts, a copy of which
  /// is kept. @param routing of messages.
  void prepare(const Topology& topology, Routing routing);
  /// @return the network. Prepared.
  [[nodiscard]] const Topology& topology() const noexcept { return *topology_; }
  /// @return ways through it.
  [[nodiscard]] Routes& routes() noexcept { return *routes_; }
  /// @return whether each host has one link, all of one speed to one switch.
  [[nodiscard]] bool is_one_switch() const noexcept { return is_one_switch_; }
  /// @param size number of ranks. @param shift how far behind a rank its receiver is.
  /// @param loads of this network, between two rounds. @return what a unit of each rank takes where
  /// it takes most.
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
