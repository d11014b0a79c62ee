// Conjugate gradients (Hestenes & Stiefel, 1952) for -laplace(u) = f on the unit square, u = 0 at
// its boundary. The programs provide the communication, so that tutti and MPI can be compared.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <cstdlib>

#include "field.hpp"

namespace poisson {

struct Outcome {
  int iterations = 0;
  double residual = 0;  // the 2-norm of f - A u, relative to that of f
  double energy = 0;    // u f, to compare u between runs
};

// Two charges without symmetry, times the square of the points' distance. They are points, so that
// the solution has waves of all lengths; for a smooth solution, most of the residual would be
// rounding.
inline Field right_side(Rows rows, int side) {
  Field f(rows.count, side);
  const auto put = [&](double x, double y, double charge) {
    const int row = static_cast<int>(y * side) - rows.first;
    if (row >= 0 && row < rows.count) f.row(row)[static_cast<std::size_t>(x * side)] += charge;
  };
  put(0.31, 0.42, 1);
  put(0.77, 0.58, -0.5);
  return f;
}

// @param exchange fills the rows above and below a field's own ones from the ranks that have them.
// @param sum adds a number of all ranks.
template <std::invocable<Field&> Exchange, std::invocable<double> Sum>
Outcome solve(int side, int rank, int ranks, Exchange exchange, Sum sum) {
  constexpr double kGood = 1e-9;
  const Rows rows = rows_of(side, rank, ranks);
  Field u(rows.count, side), product(rows.count, side);
  const Field f = right_side(rows, side);
  Field residual = f, direction = f;
  double square = sum(dot(residual, residual));
  const double start = square;
  Outcome outcome;
  while (square > kGood * kGood * start && outcome.iterations < 10 * side) {
    exchange(direction);
    apply(direction, product);
    const double step = square / sum(dot(direction, product));
    combine(u, 1, step, direction);
    combine(residual, 1, -step, product);
    const double before = square;
    square = sum(dot(residual, residual));
    combine(direction, square / before, 1, residual);
    ++outcome.iterations;
  }
  outcome.residual = std::sqrt(square / start);
  outcome.energy = sum(dot(u, f));
  return outcome;
}

// The points along a side: the argument, or 128, and at least one row per rank.
inline int side_of(int count, char** words, int ranks) {
  const int side = count > 1 ? std::atoi(words[1]) : 128;
  return side < ranks ? ranks : side;
}

inline void print(const Outcome& outcome) {
  std::printf("%d iterations, residual %.15e, energy %.15e\n", outcome.iterations, outcome.residual,
              outcome.energy);
}

}  // namespace poisson
