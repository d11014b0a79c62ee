// Rings of tori of two sides of any length: a small torus, whose sides have the same parity, gets
// two more rows at a time. Between two rows, one ring has some of the links, the other ring the
// rest. In the first new row the ring runs from each of its links to the column of its next one, in
// the second new row back again, and then on as before. The other ring does the same with the other
// links, so both stay single rings. All tori are known to have two such rings (Kotzig 1973).
#include <algorithm>
#include <utility>

#include "hamiltonian.hpp"

namespace tutti::v0 {
namespace {

/// A ring, by row * columns + column.
struct RowRing {
  int rows;
  int columns;
  std::vector<int> tour;

  [[nodiscard]] int column(std::size_t at) const { return tour[at % tour.size()] % columns; }
  [[nodiscard]] int row(std::size_t at) const { return tour[at % tour.size()] / columns; }
  /// The lower row of the ring's link after position `at`; -1 if the link stays in its row.
  [[nodiscard]] int below_link(std::size_t at) const {
    if (row(at) == row(at + 1)) return -1;
    return (row(at) + 1) % rows == row(at + 1) ? row(at) : row(at + 1);
  }
};

RowRing transposed(RowRing ring) {
  for (int& at : ring.tour) at = at % ring.columns * ring.rows + at / ring.columns;
  std::swap(ring.rows, ring.columns);
  return ring;
}

/// The columns in which a ring has links from a row to the next one.
std::vector<bool> links_above(const RowRing& ring, int row) {
  std::vector<bool> links(static_cast<std::size_t>(ring.columns));
  for (std::size_t at = 0; at < ring.tour.size(); ++at)
    if (ring.below_link(at) == row) links[static_cast<std::size_t>(ring.column(at))] = true;
  return links;
}

/// The path that replaces a link of this column in `more` new rows, from below.
std::vector<int> way_through(const std::vector<bool>& links, int column, int first, int more) {
  const auto columns = static_cast<int>(links.size());
  std::vector<int> there{column};
  for (int to = column + 1; !links[static_cast<std::size_t>(to % columns)]; ++to)
    there.push_back(to % columns);
  std::vector<int> way;
  for (int row = first; row < first + more; ++row) {
    for (const int at : there) way.push_back(row * columns + at);
    std::reverse(there.begin(), there.end());
  }
  return way;
}

/// @param rows the ring's own number of rows, plus an even number.
RowRing lengthened(const RowRing& ring, int rows) {
  int row = 0;  // both rings have links above it
  std::vector<bool> links = links_above(ring, row);
  while (std::ranges::count(links, true) % ring.columns == 0) links = links_above(ring, ++row);
  const int more = rows - ring.rows;
  RowRing longer{rows, ring.columns, {}};
  for (std::size_t at = 0; at < ring.tour.size(); ++at) {
    longer.tour.push_back(ring.tour[at] + (ring.row(at) > row ? more * ring.columns : 0));
    if (ring.below_link(at) != row) continue;
    std::vector<int> way = way_through(links, ring.column(at), row + 1, more);
    if (ring.row(at) != row) std::reverse(way.begin(), way.end());
    longer.tour.insert(longer.tour.end(), way.begin(), way.end());
  }
  return longer;
}

}  // namespace

std::vector<int> long_torus_ring(int rows, int columns) {
  const std::vector<int> sides{4 - rows % 2, 4 - columns % 2};
  const RowRing small{sides[0], sides[1], torus_rings(sides).front()};
  const RowRing high = lengthened(small, rows);
  return transposed(lengthened(transposed(high), columns)).tour;
}

}  // namespace tutti::v0
