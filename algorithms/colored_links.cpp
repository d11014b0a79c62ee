#include "colored_links.hpp"

#include <algorithm>
#include <utility>

namespace tutti::v0 {
namespace {

constexpr int kNobody = -1;

}  // namespace

ColoredLinks::ColoredLinks(const std::vector<int>& sides) : sides_{sides}, strides_(sides.size()) {
  for (std::size_t side = sides.size(); side-- > 0; routers_ *= sides[side])
    strides_[side] = routers_;
  const auto of_two = static_cast<int>(std::ranges::count(sides, 2));
  const int longer = static_cast<int>(sides.size()) - of_two;
  rings_ = longer + of_two / 2;
  links_.assign(static_cast<std::size_t>(longer + (of_two + 1) / 2),
                std::vector<Links>(static_cast<std::size_t>(routers_), Links{kNobody, kNobody}));
  int color = 0;
  int half = 2 * longer;
  for (std::size_t side = 0; side < sides.size(); ++side)
    add_side(side, sides[side] > 2 ? color++ : half++ / 2);
}

int ColoredLinks::next(int router, std::size_t side) const {
  const int at = router / strides_[side] % sides_[side];
  return router + (at + 1 < sides_[side] ? strides_[side] : -at * strides_[side]);
}

void ColoredLinks::add_side(std::size_t side, int color) {
  for (int router = 0; router < routers_; ++router) {
    const int other = next(router, side);
    if (sides_[side] == 2 && other < router) continue;  // there is only one link
    relink(color, router, kNobody, other);
    relink(color, other, kNobody, router);
  }
}

ColoredLinks::Square ColoredLinks::square(int corner, std::size_t x, std::size_t y) const {
  return {corner, next(corner, x), next(corner, y), next(next(corner, x), y)};
}

int ColoredLinks::color_of(int a, int b) const {
  int color = 0;
  while (std::ranges::count(links(color, a), b) == 0) ++color;
  return color;
}

void ColoredLinks::relink(int color, int router, int from, int to) {
  *std::ranges::find(links(color, router), from) = to;
}

void ColoredLinks::exchange(int first, int second, const Square& square) {
  const auto [corner, beside, above, opposite] = square;
  relink(first, corner, beside, above);
  relink(first, above, opposite, corner);
  relink(first, beside, corner, opposite);
  relink(first, opposite, above, beside);
  relink(second, corner, above, beside);
  relink(second, above, corner, opposite);
  relink(second, beside, opposite, corner);
  relink(second, opposite, beside, above);
}

template <class Visit>
void ColoredLinks::go_around(int color, int start, Visit visit) const {
  int from = links(color, start)[1];
  int at = start;
  do {
    visit(at);
    const int on = links(color, at)[links(color, at)[0] == from ? 1 : 0];
    from = std::exchange(at, on);
  } while (at != start);
}

std::vector<int> ColoredLinks::ring(int color, int start) const {
  std::vector<int> ring;
  go_around(color, start, [&ring](int router) { ring.push_back(router); });
  return ring;
}

int ColoredLinks::count(int color) const {
  if (color >= rings_) return 0;
  std::vector<bool> seen(static_cast<std::size_t>(routers_));
  int rings = 0;
  for (int router = 0; router < routers_; ++router) {
    if (seen[static_cast<std::size_t>(router)]) continue;
    ++rings;
    go_around(color, router, [&seen](int other) { seen[static_cast<std::size_t>(other)] = true; });
  }
  return rings;
}

}  // namespace tutti::v0
