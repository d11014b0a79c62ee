/// @file
/// What a network is: hosts, switches, and the links between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/costs.hpp>

namespace tutti::v0 {

/// What a link takes of each message, in either direction at the same time.
struct LinkSpeed {
  Femtoseconds latency = 1'000'000'000;  ///< From one end to the other: a microsecond.
  Femtoseconds per_byte = 80'000;        ///< 100 Gbit/s.
  /// For which a message occupies the link beside its bytes, as where system calls hand it over.
  Femtoseconds per_message = 0;
  /// Equality of all.
  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

/// Cells in rows, along which one goes from cell to cell, so that ways are known without a search.
struct Grid {
  std::vector<int> sides{};  ///< Lengths of the sides; the last coordinate runs fastest.
  bool joined = false;       ///< Whether the last cell of a row is next to the first.
  int first = 0;             ///< The vertex that is cell 0; the others follow it.
};

/// The name of a level whose parts are hosts of a machine room, where a network's own are GPUs.
inline constexpr const char* kHostLevel = "host";

/// Hosts in parts, in each of which they are nearer to each other than to hosts of other parts.
struct Level {
  std::string name{};          ///< Of one part, such as "island" or "host".
  std::vector<int> part_of{};  ///< The part of each host of the network.
  /// Equality of both.
  friend bool operator==(const Level&, const Level&) = default;
};
/// How many parts a level has, and how many hosts they have.
struct PartSizes {
  std::size_t parts = 0;
  int least = 0;  ///< Hosts in the smallest.
  int most = 0;   ///< Hosts in the largest.
};
/// @param level of one host or more. @return the sizes of its parts.
[[nodiscard]] PartSizes part_sizes(const Level& level);

/// What a host itself takes.
struct EndpointCosts {
  Femtoseconds message = 1'000'000'000;  ///< To hand over a message: a microsecond.
  Femtoseconds reduced = 50'000;         ///< To reduce a byte: 20 GB/s.
  /// Equality of both.
  friend bool operator==(const EndpointCosts&, const EndpointCosts&) = default;
};

/// What is known of a network beside its links.
struct TopologyFacts {
  std::optional<Grid> grid{};   ///< Of the vertices with several links, if they are one.
  std::vector<Level> levels{};  ///< From the inmost; may be empty.
  EndpointCosts endpoints{};    ///< What its hosts take.
  std::string assumed{};        ///< What of its costs nobody said, for a person; may be empty.
};

/// A network as a graph: vertices 0 .. hosts() - 1 are hosts, where ranks run, and those behind
/// them are switches, which only pass messages on. Any two vertices are connected. A value that
/// never changes.
class Topology {
 public:
  /// A link between two vertices. Between the same two there may be several.
  struct Link {
    int a = 0;          ///< One end.
    int b = 0;          ///< The other one.
    LinkSpeed speed{};  ///< What it takes.
    /// Equality of all members.
    friend bool operator==(const Link&, const Link&) = default;
  };
  /// A way to a neighbour.
  struct Hop {
    int to = 0;    ///< The neighbour.
    int link = 0;  ///< Index into links().
  };
  /// The most vertices, and the most links.
  static constexpr int kMost = 1 << 20;

  /// Throws Error{invalid_argument} that names a link to a vertex that is not there, a link of a
  /// vertex to itself, a vertex that host 0 does not reach, a level that has not a part for each
  /// host, no hosts, or too many of anything.
  /// @param name for a person, such as "torus:4x4". @param hosts how many. @param switches how
  /// many.
  /// @param links those between them. @param facts see there; that a grid is one is not checked.
  /// Complexity: linear in vertices and links.
  Topology(std::string name, int hosts, int switches, std::vector<Link> links,
           TopologyFacts facts = {});

  /// @return what it is called.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// @return how many hosts there are.
  [[nodiscard]] int hosts() const noexcept { return hosts_; }
  /// @return how many switches there are.
  [[nodiscard]] int switches() const noexcept { return vertices() - hosts_; }
  /// @return hosts and switches together.
  [[nodiscard]] int vertices() const noexcept { return static_cast<int>(first_.size()) - 1; }
  /// @return the links, as given.
  [[nodiscard]] const std::vector<Link>& links() const noexcept { return links_; }
  /// @return the grid that the vertices with several links are, if they are known to be one.
  [[nodiscard]] const std::optional<Grid>& grid() const noexcept { return facts_.grid; }
  /// @return parts of its hosts that are near each other, from the inmost; empty if none are known.
  [[nodiscard]] const std::vector<Level>& levels() const noexcept { return facts_.levels; }
  /// @return what its hosts take.
  [[nodiscard]] const EndpointCosts& endpoints() const noexcept { return facts_.endpoints; }
  /// @return what of its costs is assumed, such as "links of NVLink", or nothing.
  [[nodiscard]] const std::string& assumed() const noexcept { return facts_.assumed; }
  /// @return all that is known beside the links.
  [[nodiscard]] const TopologyFacts& facts() const noexcept { return facts_; }
  /// @param vertex in [0, vertices()). @return its neighbours, in the order of the links.
  [[nodiscard]] std::span<const Hop> hops(int vertex) const noexcept {
    const auto at = static_cast<std::size_t>(vertex);
    return std::span{hops_}.subspan(first_[at], first_[at + 1] - first_[at]);
  }
  /// @param vertex in [0, vertices()). @return the fewest links from each vertex to that one.
  /// Complexity: linear in vertices and links.
  [[nodiscard]] std::vector<std::uint16_t> distances(int vertex) const;

 private:
  std::string name_;
  int hosts_;
  std::vector<Link> links_;
  TopologyFacts facts_;
  std::vector<std::size_t> first_{};  // of each vertex in hops_, and the end
  std::vector<Hop> hops_{};
};

}  // namespace tutti::v0
