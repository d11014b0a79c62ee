// Rings of tori with sides of any length. The search exchanges links of two colours in random
// squares, which joins rings, splits them or keeps their number. It undoes exchanges that add
// rings, until each colour is one ring. All tori are known to have such colourings (Kotzig 1973;
// Foregger 1978; Aubert and Schneider 1982). The search finds them up to 64 routers, and mostly for
// more.
#include <random>

#include "colored_links.hpp"
#include "hamiltonian.hpp"

namespace tutti::v0 {

std::vector<std::vector<int>> torus_rings(const std::vector<int>& sides) {
  constexpr std::int64_t kMostSteps = 5'000'000;  // routers visited: tens of milliseconds
  ColoredLinks links{sides};
  std::vector<int> counts(sides.size());  // also of the colour without rings
  int left = -links.colors();
  for (int color = 0; color < links.colors(); ++color)
    left += counts[static_cast<std::size_t>(color)] = links.count(color);
  std::mt19937 random{1};  // the same on all ranks
  const auto below = [&random](std::size_t end) { return random() % end; };
  for (std::int64_t steps = 0; left > 0; steps += links.routers()) {
    if (steps > kMostSteps) return {};
    const std::size_t x = below(sides.size());
    const std::size_t y = below(sides.size());
    const auto corner = static_cast<int>(below(static_cast<std::size_t>(links.routers())));
    if (x == y) continue;
    const auto square = links.square(corner, x, y);
    const int first = links.color_of(corner, square.beside);
    const int second = links.color_of(corner, square.above);
    if (first == second || links.color_of(square.above, square.opposite) != first ||
        links.color_of(square.beside, square.opposite) != second)
      continue;
    links.exchange(first, second, square);
    int& firsts = counts[static_cast<std::size_t>(first)];
    int& seconds = counts[static_cast<std::size_t>(second)];
    const int more_firsts = links.count(first) - firsts;
    const int more_seconds = links.count(second) - seconds;
    if (more_firsts + more_seconds > 0) {
      links.exchange(first, second, {corner, square.above, square.beside, square.opposite});
      continue;
    }
    firsts += more_firsts;
    seconds += more_seconds;
    left += more_firsts + more_seconds;
  }
  std::vector<std::vector<int>> rings;
  for (int color = 0; color < links.colors(); ++color) rings.push_back(links.ring(color, 0));
  return rings;
}

}  // namespace tutti::v0
