/// @file
/// Which links a message takes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "topology.hpp"

namespace tutti::inline v0 {

/// How a shortest path is chosen among several.
enum class Routing : std::uint8_t {
  fixed,  ///< By the receiver, whose number's digits choose one way after the other: in a fat tree
          ///< the D-mod-k of its switches' tables (Zahavi, J. Parallel Distr. Comp. 72, 2012).
  balanced  ///< By both ends, as hashing of flows does.
};

/// Shortest paths in a network. Not to be asked by two threads at once.
class Routes {
 public:
  /// @param topology outlives this. @param routing see there.
  explicit Routes(const Topology& topology, Routing routing = Routing::fixed)
      : topology_{topology}, routing_{routing} {}

  /// @param from a host. @param to another one. @param path is set to the channels it takes: twice
  /// the index of each link, and one more where it goes from the link's b to its a. Nothing where
  /// both are the same. Complexity: linear in the path, after a search per receiver.
  void find(int from, int to, std::vector<int>& path);
  /// @return how many channels there are: each link has two.
  [[nodiscard]] std::size_t channels() const noexcept { return 2 * topology_.links().size(); }

 private:
  const Topology& topology_;
  Routing routing_;
  std::unordered_map<int, std::vector<std::uint16_t>> distances_{};  // by receiver
};

}  // namespace tutti::inline v0
