/// @file
/// Networks as graphs: routers, links between them, and the router of each rank. Families are made
/// by name, as in `torus:4x4`; any other graph is a list of links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// The construction of a graph.
enum class GraphFamily : std::uint8_t {
  ring,       ///< `ring:8`: routers 0, 1, .., 7 and back.
  hypercube,  ///< `hypercube:3`: routers whose numbers differ in one bit.
  torus,      ///< `torus:4x4x2`: a ring per side; the last coordinate varies fastest.
  complete,   ///< `complete:8`: a link between all pairs of routers.
  slim_fly,   ///< `slim_fly:q=5`: McKay, Miller and Siran's graph of diameter 2 on 2 q^2 routers.
  edges       ///< `edges:0-1+1-2`: a list of links.
};

/// A shortest-path spanning tree from every router. Entries of one router in all trees are
/// contiguous.
struct SpanningTrees {
  std::vector<std::uint16_t> depth{};  ///< Depth of router u in the tree of r: at u * routers + r.
  /// Parent in that tree, at the same index; a root is its own parent.
  std::vector<std::uint16_t> parent{};
  int deepest = 0;                      ///< The greatest depth.
};

/// An undirected, connected graph of routers, and the ranks on them. An immutable value; copies
/// share expensive data.
class TUTTI_API Graph {
 public:
  /// A link between two routers.
  struct Edge {
    int a = 0;  ///< One end.
    int b = 0;  ///< The other end.
    /// Equality of both ends.
    friend bool operator==(const Edge&, const Edge&) = default;
  };

  /// Every function that makes a graph throws Error{invalid_argument} that names the fault: a
  /// number out of range, a link of a router to itself, a link given twice, a part of the graph
  /// that is not reachable from router 0, too many routers or links. Rank r sits on router r.
  [[nodiscard]] static Graph from_edges(int routers, std::span<const Edge> edges);
  /// @param routers at least 1.
  [[nodiscard]] static Graph ring(int routers);
  /// @param dimensions at least 0; there are 2^dimensions routers.
  [[nodiscard]] static Graph hypercube(int dimensions);
  /// @param sides lengths of the sides, at least 1 each.
  [[nodiscard]] static Graph torus(std::span<const int> sides);
  /// @param routers at least 1.
  [[nodiscard]] static Graph complete(int routers);
  /// @param q a prime power from 3 on. @return MMS(q): router (s, a, b) is s * q^2 + a * q + b.
  [[nodiscard]] static Graph slim_fly(int q);

  /// @return the same routers and links with other ranks. @param routers the router of rank 0, 1,
  /// 2, ...
  [[nodiscard]] Graph with_ranks_on(std::vector<int> routers) const;

  /// @return the construction of the graph.
  [[nodiscard]] GraphFamily family() const noexcept { return family_; }
  /// @return the numbers after the family's name: sides of a torus, q of a Slim Fly.
  [[nodiscard]] std::span<const int> numbers() const noexcept { return numbers_; }
  /// @return the number of routers.
  [[nodiscard]] int routers() const noexcept { return static_cast<int>(first_.size()) - 1; }
  /// @return the links, each once, the lower router first, ascending.
  [[nodiscard]] std::vector<Edge> edges() const;
  /// @param router in [0, routers()). @return its neighbours, ascending.
  [[nodiscard]] std::span<const int> neighbors(int router) const noexcept {
    const auto at = static_cast<std::size_t>(router);
    return std::span{neighbors_}.subspan(first_[at], first_[at + 1] - first_[at]);
  }
  /// @return the most neighbours of a router.
  [[nodiscard]] int degree() const noexcept;
  /// @return the greatest distance between two routers.
  [[nodiscard]] int diameter() const;
  /// @param router in [0, routers()). @return the distance of each router from that one.
  [[nodiscard]] std::vector<int> distances(int router) const;
  /// @return the trees of the multitree algorithm, one per router, which load links and routers as
  /// evenly as a greedy choice can. Made at the first call, by one thread, for all copies of this
  /// graph. Throws Error{invalid_argument} beyond 4,096 routers.
  [[nodiscard]] const SpanningTrees& trees() const;
  /// @return the rings of the multi_ring algorithm: cycles through all routers that share no link,
  /// up to half as many as a router has links, each as its routers in turn. Known for rings,
  /// complete graphs, tori and hypercubes. Searched at the first call, as trees(). Throws
  /// Error{invalid_argument} if none are known or found.
  [[nodiscard]] const std::vector<std::vector<int>>& rings() const;

  /// @return the number of ranks.
  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(router_of_.size()); }
  /// @param rank in [0, ranks()). @return its router.
  [[nodiscard]] int router_of(Rank rank) const noexcept {
    return router_of_[static_cast<std::size_t>(rank)];
  }

  /// @return the text for parse_graph, such as "torus:4x4" or "ring:3:ranks=2+0+1".
  [[nodiscard]] std::string text() const;
  /// Equal families, links and ranks.
  friend bool operator==(const Graph& a, const Graph& b) {
    return a.family_ == b.family_ && a.first_ == b.first_ && a.neighbors_ == b.neighbors_ &&
           a.router_of_ == b.router_of_;
  }

 private:
  struct Lazy;

  Graph(GraphFamily family, std::vector<int> numbers, int routers, std::vector<Edge> edges);
  [[nodiscard]] static std::shared_ptr<Lazy> make_lazy();
  [[nodiscard]] SpanningTrees grow_trees() const;

  GraphFamily family_;
  std::vector<int> numbers_;
  std::vector<std::size_t> first_{};  // of each router in neighbors_, and the end
  std::vector<int> neighbors_{};
  std::vector<int> router_of_{};
  std::shared_ptr<Lazy> lazy_;
};

/// @return the name, such as "slim_fly".
[[nodiscard]] TUTTI_API std::string_view name_of(GraphFamily family) noexcept;

/// Reads a graph, such as "torus:4x4", "edges:0-1+1-2" or, with two ranks on each router in turn,
/// "ring:4:per_router=2"; "ring:3:ranks=2+0+1" lists the router of each rank. Throws
/// Error{invalid_argument} that names the wrong part, the choices and the nearest name.
[[nodiscard]] TUTTI_API Graph parse_graph(std::string_view text);

/// Reads a list of links, one per line as two router numbers such as "0 1". A line such as "rank 5
/// 2" puts rank 5 on router 2; without any, rank r sits on router r. Text after a # is a comment.
/// Throws Error{invalid_argument} that names the line and the fault.
[[nodiscard]] TUTTI_API Graph read_edge_list(std::string_view text);

}  // namespace tutti::v0
