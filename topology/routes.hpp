/// @file
/// Which links a message takes.
#pragma once

#include <cstdint>
#include <vector>

#include "topology.hpp"

namespace tutti::v0 {

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
  explicit Routes(const Topology& topology, Routing routing = Routing::fixed);

  /// @param from a host. @param to another one. @param path is set to the channels it takes: twice
  /// the index of each link, and one more where it goes from the link's b to its a. Nothing where
  /// both are the same. Complexity: linear in the path; in a network that is no grid after a search
  /// per receiver, or per switch with receivers that have no other link.
  void find(int from, int to, std::vector<int>& path);
  /// @return how many channels there are: each link has two.
  [[nodiscard]] std::size_t channels() const noexcept { return 2 * topology_.links().size(); }

 private:
  /// How a vertex goes on towards a goal.
  struct NextHops {
    std::uint32_t first = 0;  // of its hops that lead nearer to the goal
    std::uint16_t count = 0;  // how many do
    std::uint16_t distance = kFar;
  };
  using NextHopTable = std::vector<NextHops>;  // by inner vertex
  static constexpr std::uint16_t kFar = 0xffff;
  /// Marks NextHops::first where others stand between the hops that lead nearer.
  static constexpr std::uint32_t kScattered = std::uint32_t{1} << 31;

  [[nodiscard]] bool is_leaf(int vertex) const noexcept {
    return topology_.hops(vertex).size() == 1;
  }
  [[nodiscard]] const NextHopTable& table_to(int goal);
  [[nodiscard]] NextHopTable search(int goal) const;
  void point(int vertex, NextHopTable& table) const;
  [[nodiscard]] int in_grid(int vertex, int goal) const noexcept;
  [[nodiscard]] std::uint64_t choose(std::uint64_t& digits, int from, int to, int distance,
                                     std::uint64_t count) const noexcept;
  [[nodiscard]] Topology::Hop next_in_grid(int at, int from, int to, int goal,
                                           std::uint64_t& digits) const;
  [[nodiscard]] Topology::Hop next(const NextHopTable& table, int at, int from, int to,
                                   std::uint64_t& digits) const;
  void go(int& at, const Topology::Hop& hop, std::vector<int>& path) const;

  const Topology& topology_;
  Routing routing_;
  std::vector<int> inner_{};             // number of each vertex among those with several links
  std::size_t inners_ = 0;               // how many these are
  std::vector<std::uint16_t> places_{};  // coordinates of each cell of a grid
  std::vector<NextHopTable> tables_{};   // by goal, an inner vertex; empty if not searched
  std::size_t searched_ = 0;             // how many are not
};

}  // namespace tutti::v0
