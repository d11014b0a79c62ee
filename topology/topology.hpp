/// @file
/// Topology: a network of hosts, switches, and the links between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tutti/spi/costs.hpp>

namespace tutti::v0 {

/// The time of a message on a link, in each direction at once.
struct LinkSpeed {
  Femtoseconds latency = 1'000'000'000;  ///< From one end to the other: a microsecond.
  Femtoseconds per_byte = 80'000;        ///< 100 Gbit/s.
  /// The time that a message occupies the link apart from its bytes, such as for system calls.
  Femtoseconds per_message = 0;
  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

/// The vertices form a grid, in which paths are known without a search.
struct Grid {
  std::vector<int> sides{};  ///< Lengths of the sides; the last coordinate runs fastest.
  bool joined = false;       ///< Whether the last cell of a row is next to the first.
  int first = 0;             ///< The vertex of cell 0; the other cells follow.
};

/// The name of a level whose parts are hosts of a machine room, if the network's own hosts are
/// GPUs.
inline constexpr const char* kHostLevel = "host";

/// A division of hosts into parts, in which they are nearer to each other than to other hosts.
struct Level {
  std::string name{};          ///< The name of one part, such as "island" or "host".
  std::vector<int> part_of{};  ///< The part of each host of the network.
  friend bool operator==(const Level&, const Level&) = default;
};
/// The number of parts of a level, and their sizes.
struct PartSizes {
  std::size_t parts = 0;
  int least = 0;  ///< Hosts in the smallest part.
  int most = 0;   ///< Hosts in the largest part.
};
/// @param level of one host or more.
[[nodiscard]] PartSizes part_sizes(const Level& level);

/// The costs of a host.
struct EndpointCosts {
  Femtoseconds message = 1'000'000'000;  ///< Sending a message: a microsecond.
  Femtoseconds reduced = 50'000;         ///< Reducing a byte: 20 GB/s.
  friend bool operator==(const EndpointCosts&, const EndpointCosts&) = default;
};

/// The facts about a network apart from its links.
struct TopologyFacts {
  std::optional<Grid> grid{};   ///< The grid of the vertices with several links, if they form one.
  std::vector<Level> levels{};  ///< Innermost first; may be empty.
  EndpointCosts endpoints{};    ///< Costs of its hosts.
  std::string assumed{};        ///< Its costs that are assumed, for a person; may be empty.
};

/// A network as a graph: vertices 0 .. hosts() - 1 are hosts, where ranks run; the others are
/// switches, which forward messages. All vertices are connected. Immutable.
class Topology {
 public:
  /// A link between two vertices, which may have several.
  struct Link {
    int a = 0;
    int b = 0;
    LinkSpeed speed{};
    friend bool operator==(const Link&, const Link&) = default;
  };
  /// A link to a neighbour.
  struct Hop {
    int to = 0;
    int link = 0;  ///< Index in links().
  };
  /// The most vertices, and the most links.
  static constexpr int kMost = 1 << 20;

  /// Throws Error{invalid_argument} that names a link to a vertex that does not exist, a link of a
  /// vertex to itself, a vertex that host 0 does not reach, a level without a part for each host,
  /// no hosts, or numbers that are too large. @param name for a person, such as "torus:4x4". @param
  /// facts a wrong grid is not detected. Complexity: linear in vertices and links.
  Topology(std::string name, int hosts, int switches, std::vector<Link> links,
           TopologyFacts facts = {});

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int hosts() const noexcept { return hosts_; }
  [[nodiscard]] int switches() const noexcept { return vertices() - hosts_; }
  /// @return the number of hosts and switches.
  [[nodiscard]] int vertices() const noexcept { return static_cast<int>(first_.size()) - 1; }
  [[nodiscard]] const std::vector<Link>& links() const noexcept { return links_; }
  /// @return the grid of the vertices with several links, if it is known.
  [[nodiscard]] const std::optional<Grid>& grid() const noexcept { return facts_.grid; }
  /// @return the levels, innermost first; may be empty.
  [[nodiscard]] const std::vector<Level>& levels() const noexcept { return facts_.levels; }
  [[nodiscard]] const EndpointCosts& endpoints() const noexcept { return facts_.endpoints; }
  /// @return the assumed costs, such as "links of NVLink", or an empty text.
  [[nodiscard]] const std::string& assumed() const noexcept { return facts_.assumed; }
  [[nodiscard]] const TopologyFacts& facts() const noexcept { return facts_; }
  /// @return the neighbours of a vertex, in the order of the links.
  [[nodiscard]] std::span<const Hop> hops(int vertex) const noexcept {
    const auto at = static_cast<std::size_t>(vertex);
    return std::span{hops_}.subspan(first_[at], first_[at + 1] - first_[at]);
  }
  /// @return the number of links on a shortest path from each vertex to that one. Complexity:
  /// linear in vertices and links.
  [[nodiscard]] std::vector<std::uint16_t> distances(int vertex) const;

 private:
  std::string name_;
  int hosts_;
  std::vector<Link> links_;
  TopologyFacts facts_;
  std::vector<std::size_t> first_{};  // by vertex: index in hops_, and the end
  std::vector<Hop> hops_{};
};

}  // namespace tutti::v0
