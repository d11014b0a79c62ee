/// @file
/// The links of a torus in colours, of each of which every router has two.
#pragma once

#include <array>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// So a colour is rings, and links that change places in a square join or split them.
class ColoredLinks {
 public:
  /// At first the links of a side have a colour. A side of two routers has one link between them;
  /// two such sides are a colour, and one that is left over is the last one, and no rings.
  /// @param sides of two or more; they outlive this.
  explicit ColoredLinks(const std::vector<int>& sides);

  /// Four routers: a corner, two beside it on different sides, and the one beside both.
  struct Square {
    int corner, beside, above, opposite;
  };

  [[nodiscard]] int routers() const noexcept { return routers_; }
  /// How many colours are rings.
  [[nodiscard]] int colors() const noexcept { return rings_; }
  [[nodiscard]] Square square(int corner, std::size_t x, std::size_t y) const;
  /// The colour of a link.
  [[nodiscard]] int color_of(int a, int b) const;
  /// Of a square whose links from the corner to the one beside, and opposite to it, have the first
  /// colour, and the other two the second one: they change colours. Doing so again, with the
  /// routers beside and above in each other's place, takes it back.
  void exchange(int first, int second, const Square& square);
  /// The routers of a ring in turn.
  [[nodiscard]] std::vector<int> ring(int color, int start) const;
  /// How many rings a colour has; none if it is no rings.
  [[nodiscard]] int count(int color) const;

 private:
  using Links = std::array<int, 2>;  // to whom a router has links of a colour

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
