/// @file
/// Routes: the links that a message passes.
#pragma once

#include <cstdint>
#include <vector>

#include "topology.hpp"

namespace tutti::v0 {

/// The choice between several shortest paths.
enum class Routing : std::uint8_t {
  /// By the receiver: the digits of its number choose one hop after the other. In a fat tree these
  /// are the D-mod-k tables of its switches (Zahavi, J. Parallel Distr. Comp. 72, 2012).
  fixed,
  balanced  ///< By both ends, as hashing of flows does.
};

/// Shortest paths in a network. Not safe to use from several threads.
class Routes {
 public:
  /// @param topology outlives this.
  explicit Routes(const Topology& topology, Routing routing = Routing::fixed);

  /// Finds the path between two hosts. @param path is set to its channels: twice the index of each
  /// link, plus one from the link's b to its a. Empty if both hosts are the same. Complexity:
  /// linear in the path; unless the network is a grid, after one search per receiver, or per switch
  /// whose receivers have no other link.
  void find(int from, int to, std::vector<int>& path);
  /// @return the number of channels: each link has two.
  [[nodiscard]] std::size_t channels() const noexcept { return 2 * topology_.links().size(); }

 private:
  /// The hops from a vertex that lead nearer to a goal.
  struct NextHops {
    std::uint32_t first = 0;  // index of the first one
    std::uint16_t count = 0;  // their number
    std::uint16_t distance = kFar;
  };
  using NextHopTable = std::vector<NextHops>;  // by inner vertex
  static constexpr std::uint16_t kFar = 0xffff;
  /// Set in NextHops::first if other hops lie between them.
  static constexpr std::uint32_t kScattered = std::uint32_t{1} << 31;

  [[nodiscard]] bool is_leaf(int vertex) const noexcept {
    return topology_.hops(vertex).size() == 1;
  }
  [[nodiscard]] const NextHopTable& table_to(int goal);
  [[nodiscard]] NextHopTable search(int goal) const;
  void find_next_hops(int vertex, NextHopTable& table) const;
  [[nodiscard]] int grid_distance(int vertex, int goal) const noexcept;
  [[nodiscard]] std::uint64_t choose(std::uint64_t& digits, int from, int to, int distance,
                                     std::uint64_t count) const noexcept;
  [[nodiscard]] Topology::Hop next_in_grid(int at, int from, int to, int goal,
                                           std::uint64_t& digits) const;
  [[nodiscard]] Topology::Hop next(const NextHopTable& table, int at, int from, int to,
                                   std::uint64_t& digits) const;
  void append_hop(int& at, const Topology::Hop& hop, std::vector<int>& path) const;

  const Topology& topology_;
  Routing routing_;
  std::vector<int> inner_{};  // by vertex: its number among vertices with several links, or -1
  std::size_t inners_ = 0;    // number of vertices with several links
  std::vector<std::uint16_t> places_{};  // coordinates of each cell of a grid
  std::vector<NextHopTable> tables_{};   // by goal, an inner vertex; empty: not searched
  std::size_t searched_ = 0;             // number of tables that are not empty
};

}  // namespace tutti::v0
