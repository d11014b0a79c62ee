#include "components.hpp"

#include <cstddef>
#include <numeric>

namespace tutti::v0 {

std::vector<int> components_of(std::size_t vertices, const std::vector<Topology::Link>& links) {
  std::vector<int> above(vertices);
  std::iota(above.begin(), above.end(), 0);
  const auto top = [&](int vertex) {
    while (above[static_cast<std::size_t>(vertex)] != vertex) {
      int& up = above[static_cast<std::size_t>(vertex)];
      vertex = up = above[static_cast<std::size_t>(up)];
    }
    return vertex;
  };
  for (const Topology::Link& link : links)
    above[static_cast<std::size_t>(top(link.a))] = top(link.b);
  for (std::size_t i = 0; i < vertices; ++i) above[i] = top(static_cast<int>(i));
  return above;
}

}  // namespace tutti::v0
