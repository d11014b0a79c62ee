// The Slim Fly graphs MMS(q): 2 q^2 routers, (3q - delta) / 2 links each for q = 4w + delta, and no
// two routers more than two links apart. Rows of q routers on two sides; those of opposite sides
// are joined by the lines y = m x + c. McKay, Miller and Siran, J. Combin. Theory B 74, 1998; Besta
// and Hoefler, SC 2014.
#include "finite_field.hpp"
#include "graph.hpp"

namespace tutti::v0 {

/// The exponents of the primitive element whose powers are X, or Y: differences of neighbours
/// within a row on side 0, or on side 1.
static std::vector<int> exponents(int q, bool on_side_1) {
  std::vector<int> exponents;
  const int delta = q % 4 == 3 ? -1 : q % 4;
  const int w = (q - delta) / 4;
  const int first = on_side_1 ? 1 : 0;
  if (delta == -1) {
    for (int i = 0; i < w; ++i) exponents.push_back(2 * i + first);
    const int from = on_side_1 ? w : w - 1;
    for (int i = from; i < from + w; ++i) exponents.push_back(2 * i + 1 - first);
  } else {
    for (int e = first; e < (delta == 1 ? q - 1 : q); e += 2) exponents.push_back(e);
  }
  return exponents;
}

Graph Graph::slim_fly(int q) {
  if (q < 3 || !prime_power(q))
    reject("the q of a Slim Fly is a prime power from 3 on, such as 3, 4, 5, 7, 8 or 9, not " +
           std::to_string(q));
  const std::int64_t long_q = q;
  check_size("the Slim Fly", 2 * long_q * long_q, long_q * long_q * (3 * long_q + 1) / 2);
  const FiniteField field{q};
  const auto router = [q](int side, int a, int b) { return (side * q + a) * q + b; };
  std::vector<Edge> edges;
  for (const int side : {0, 1})
    for (const int exponent : exponents(q, side == 1))
      for (int a = 0; a < q; ++a)
        for (int b = 0; b < q; ++b) {
          const int other = field.plus(b, field.power(exponent));
          // If a difference is among the powers, so is its opposite: each link appears twice.
          if (b < other) edges.push_back({router(side, a, b), router(side, a, other)});
        }
  for (int x = 0; x < q; ++x)
    for (int m = 0; m < q; ++m)
      for (int c = 0; c < q; ++c)
        edges.push_back({router(0, x, field.plus(field.times(m, x), c)), router(1, m, c)});
  return {GraphFamily::slim_fly, {q}, 2 * q * q, std::move(edges)};
}

}  // namespace tutti::v0
