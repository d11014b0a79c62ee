/// @file
/// The links of a torus in colours: every router has two links of each colour.
#pragma once

#include <array>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// The links of a torus. Each colour forms rings, which exchanges of links in a square join or
/// split.
class ColoredLinks {
 public:
  /// At first each side has its own colour. A side of two routers has only one link between them,
  /// so two such sides share a colour. If one such side is left over, it is the last colour and
  /// forms no rings. @param sides lengths of at least two; must outlive this.
  explicit ColoredLinks(const std::vector<int>& sides);

  /// Four routers: a corner, two beside it on different sides, and the one beside both.
  struct Square {
    int corner, beside, above, opposite;
  };

  [[nodiscard]] int routers() const noexcept { return routers_; }
  /// The number of colours that form rings.
  [[nodiscard]] int colors() const noexcept { return rings_; }
  [[nodiscard]] Square square(int corner, std::size_t x, std::size_t y) const;
  /// The colour of a link.
  [[nodiscard]] int color_of(int a, int b) const;
  /// Swaps the two colours of a square's links. The link from corner to beside and the one opposite
  /// to it have colour `first`, the others `second`. A second call with beside and above swapped
  /// undoes it.
  void exchange(int first, int second, const Square& square);
  /// The routers of a ring, in its order.
  [[nodiscard]] std::vector<int> ring(int color, int start) const;
  /// The number of rings of a colour; 0 if it forms none.
  [[nodiscard]] int count(int color) const;

 private:
  using Links = std::array<int, 2>;  // the ends of a router's links of a colour

  [[nodiscard]] Links& links(int color, int router) {
    return links_[static_cast<std::size_t>(color)][static_cast<std::size_t>(router)];
  }
  [[nodiscard]] const Links& links(int color, int router) const {
    return links_[static_cast<std::size_t>(color)][static_cast<std::size_t>(router)];
  }
  [[nodiscard]] int next(int router, std::size_t side) const;
  void add_side(std::size_t side, int color);
  template <class Visit>
  void go_around(int color, int start, Visit visit) const;
  void relink(int color, int router, int from, int to);

  const std::vector<int>& sides_;
  std::vector<int> strides_{};
  int routers_ = 1;
  int rings_ = 0;
  std::vector<std::vector<Links>> links_{};
};

}  // namespace tutti::v0
