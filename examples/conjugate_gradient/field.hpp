// A rank's rows of a square grid, and the operations of conjugate gradients on them. Nothing here
// communicates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace poisson {

// A rank's rows of a grid of `side` x `side` inner points. Ranks differ by at most one row.
struct Rows {
  int first = 0;
  int count = 0;
};
[[nodiscard]] inline Rows rows_of(int side, int rank, int ranks) {
  const int least = side / ranks, longer = side % ranks;
  return {.first = rank * least + (rank < longer ? rank : longer),
          .count = least + (rank < longer ? 1 : 0)};
}

// Values at the rank's points, with one more row above and below: a neighbor's nearest row, or the
// boundary, whose values are zero.
class Field {
 public:
  Field(int rows, int side)
      : rows_{rows}, side_{side},
        values_(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(side)) {}

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int side() const { return side_; }
  // -1 is the row above the rank's own, rows() the one below.
  [[nodiscard]] std::span<double> row(int i) {
    return std::span{values_}.subspan(start(i), width());
  }
  [[nodiscard]] std::span<const double> row(int i) const {
    return std::span{values_}.subspan(start(i), width());
  }
  // The rank's own points.
  [[nodiscard]] std::span<double> own() {
    return std::span{values_}.subspan(width(), values_.size() - 2 * width());
  }
  [[nodiscard]] std::span<const double> own() const {
    return std::span{values_}.subspan(width(), values_.size() - 2 * width());
  }

 private:
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(side_); }
  [[nodiscard]] std::size_t start(int i) const { return static_cast<std::size_t>(i + 1) * width(); }

  int rows_;
  int side_;
  std::vector<double> values_;
};

// out = A in, where A is minus the Laplacian by five points, times the square of their distance.
inline void apply(const Field& in, Field& out) {
  const auto side = static_cast<std::size_t>(in.side());
  for (int i = 0; i < in.rows(); ++i) {
    const auto above = in.row(i - 1), here = in.row(i), below = in.row(i + 1);
    const auto result = out.row(i);
    for (std::size_t j = 0; j < side; ++j) {
      const double left = j > 0 ? here[j - 1] : 0, right = j + 1 < side ? here[j + 1] : 0;
      result[j] = 4 * here[j] - above[j] - below[j] - left - right;
    }
  }
}

// The rank's part of a product.
[[nodiscard]] inline double dot(const Field& a, const Field& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.own().size(); ++i) sum += a.own()[i] * b.own()[i];
  return sum;
}

// to = scale * to + factor * from
inline void combine(Field& to, double scale, double factor, const Field& from) {
  const auto out = to.own();
  const auto in = from.own();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * out[i] + factor * in[i];
}

}  // namespace poisson
