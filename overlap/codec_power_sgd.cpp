// Matrices as products of two thin ones (Vogels, Karimireddy, Jaggi, "PowerSGD", NeurIPS 2019).
// Each training step does one step of the power iteration, which continues that of the last one.
// The error of the product is added to the next gradient. Vectors travel uncompressed, with the
// first factors.
#include <algorithm>
#include <cmath>

#include "bytes.hpp"
#include "codec.hpp"

namespace tutti::v0::detail {
namespace {

/// A dot product in independent parts, so that a compiler may add several at once.
float dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t kParts = 16;
  float parts[kParts]{};
  std::size_t i = 0;
  for (; i + kParts <= a.size(); i += kParts)
    for (std::size_t part = 0; part < kParts; ++part) parts[part] += a[i + part] * b[i + part];
  float sum = 0;
  for (const float part : parts) sum += part;
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Makes vectors orthogonal and of length 1; dependent ones become zero. It runs the Gram-Schmidt
/// process twice, since rounding spoils the rest of a vector that is nearly dependent (Giraud et
/// al., "The loss of orthogonality in the Gram-Schmidt process", 2005).
/// @param vectors number of vectors, which have equal lengths and lie one after the other.
void orthogonalize(std::span<float> vectors, std::size_t many) {
  const std::size_t length = vectors.size() / many;
  for (std::size_t k = 0; k < many; ++k) {
    const std::span<float> own = vectors.subspan(k * length, length);
    const float before = std::sqrt(dot(own, own));
    for (std::size_t turn = 0; turn < 2 * k; ++turn) {
      const std::span<const float> other = vectors.subspan(turn % k * length, length);
      const float share = dot(own, other);
      for (std::size_t i = 0; i < length; ++i) own[i] -= share * other[i];
    }
    const float size = std::sqrt(dot(own, own));
    const float inverse = size > 1e-6F * before ? 1 / size : 0;
    for (float& x : own) x *= inverse;
  }
}

/// Numbers between -1 and 1, the same on all ranks, by SplitMix64.
/// @param seed differs between the vectors of a matrix, so that they are independent.
void fill_random(std::span<float> vector, std::uint64_t seed) {
  std::uint64_t state = seed << 32;
  for (float& x : vector)
    x = static_cast<float>(static_cast<std::int64_t>(mixed_bits(state += 0x9e3779b97f4a7c15))) *
        0x1p-63F;
}

/// A matrix that is sent as factors. A factor is stored as vectors one after the other: left ones
/// have an element per row, right ones an element per column.
struct Factored {
  std::size_t first;  // element in the bucket
  std::size_t rows, columns;
  std::size_t left, right;  // places of its factors
};
/// Elements that are sent without compression.
struct Plain {
  std::size_t first, count, place;
};

class PowerSgd final : public CompressedReduction {
 public:
  PowerSgd(BucketContext given, std::size_t rank)
      : CompressedReduction{std::move(given)}, rank_{rank} {
    std::size_t left = 0;
    std::size_t right = 0;
    for (const BucketMatrix& place : context().matrices) {
      const std::size_t columns = place.rows > 0 ? place.count / place.rows : 0;
      if (rank_ * (place.rows + columns) < place.count && columns > 0) {
        matrices_.push_back({place.first, place.rows, columns, left, right});
        left += rank_ * place.rows;
        right += rank_ * columns;
      } else {
        plain_.push_back({place.first, place.count, left});
        left += place.count;
      }
    }
    left_ = context().first->allocate<float>(left);
    right_ = context().second->allocate<float>(right);
    errors_.resize(matrices_.empty() ? 0 : context().count());
    restart();
    revive();
  }
  std::uint64_t sent_bytes() const override {
    const std::size_t bytes = (left_.size() + right_.size()) * sizeof(float);
    return 2 * bytes * (context().ranks() - 1) / context().ranks();
  }
  std::vector<KeptElements> kept() override {
    std::vector<KeptElements> all{{KeptElements::Role::gradients, 0, errors_}};
    for (const Factored& matrix : matrices_)
      all.push_back({KeptElements::Role::factors,
                     matrix.first,
                     {right_.data() + matrix.right, rank_ * matrix.columns}});
    return all;
  }

 protected:
  Request encode() override {
    for (const Factored& matrix : matrices_)
      for (std::size_t row = 0; row < matrix.rows; ++row) {
        const std::span<float> own = row_of(matrix, row);
        for (std::size_t i = 0; i < own.size(); ++i)
          own[i] += errors_[matrix.first + row * matrix.columns + i];
        for (std::size_t k = 0; k < rank_; ++k)
          left_.data()[matrix.left + k * matrix.rows + row] = dot(own, right_of(matrix, k));
      }
    for (const Plain& plain : plain_)
      copy_bytes(left_.data() + plain.place, elements().data() + plain.first,
                 plain.count * sizeof(float));
    return context().first->async().all_reduce(left_, average, call_options());
  }
  Request advance() override {
    if (matrices_.empty()) return {};
    std::ranges::fill(right_, 0.0F);
    for (const Factored& matrix : matrices_) {
      orthogonalize({left_.data() + matrix.left, rank_ * matrix.rows}, rank_);
      for (std::size_t row = 0; row < matrix.rows; ++row)
        add_rows(matrix, row, [](float& right, float& own, float left) { right += left * own; });
    }
    return context().second->async().all_reduce(right_, average, call_options());
  }
  void decode() override {
    bool is_finite = true;
    for (const Factored& matrix : matrices_)
      for (std::size_t row = 0; row < matrix.rows; ++row) {
        const std::span<float> own = row_of(matrix, row);
        const std::span<float> errors =
            std::span{errors_}.subspan(matrix.first + row * matrix.columns, own.size());
        copy_bytes(errors.data(), own.data(), own.size_bytes());
        std::ranges::fill(own, 0.0F);
        add_rows(matrix, row, [](float& right, float& to, float left) { to += left * right; });
        float check = 0;
        for (std::size_t i = 0; i < own.size(); ++i) {
          errors[i] -= own[i];
          check += errors[i] * 0.0F;
          own[i] *= factor();
        }
        is_finite = is_finite && check == 0;
      }
    for (const Plain& plain : plain_)
      for (std::size_t i = 0; i < plain.count; ++i)
        elements()[plain.first + i] = left_.data()[plain.place + i] * factor();
    if (!is_finite) restart();  // otherwise all later steps would be void
    revive();
  }

 private:
  void restart() {
    std::ranges::fill(errors_, 0.0F);
    std::ranges::fill(right_, 0.0F);
  }
  /// Replaces vectors that zero gradients have made zero, since they would stay zero.
  void revive() {
    for (const Factored& matrix : matrices_)
      for (std::size_t k = 0; k < rank_; ++k) {
        const std::span<float> right = right_of(matrix, k);
        if (std::ranges::all_of(right, [](float x) { return x == 0; })) fill_random(right, k + 1);
      }
  }
  [[nodiscard]] std::span<float> row_of(const Factored& matrix, std::size_t row) {
    return elements().subspan(matrix.first + row * matrix.columns, matrix.columns);
  }
  [[nodiscard]] std::span<float> right_of(const Factored& matrix, std::size_t k) {
    return {right_.data() + matrix.right + k * matrix.columns, matrix.columns};
  }
  /// Calls function(element of the right factor, of the matrix, of the left factor) for all
  /// elements of a row and all vectors.
  template <class Function>
  void add_rows(const Factored& matrix, std::size_t row, Function function) {
    const std::span<float> own = row_of(matrix, row);
    for (std::size_t k = 0; k < rank_; ++k) {
      const float left = left_.data()[matrix.left + k * matrix.rows + row];
      const std::span<float> right = right_of(matrix, k);
      for (std::size_t i = 0; i < own.size(); ++i) function(right[i], own[i], left);
    }
  }

  std::size_t rank_;
  std::vector<Factored> matrices_{};
  std::vector<Plain> plain_{};
  Buffer<float> left_{};   // left factors, and uncompressed elements
  Buffer<float> right_{};  // right factors, with which the next step begins
  std::vector<float> errors_{};
};

}  // namespace

std::unique_ptr<BucketReduction> make_power_sgd(BucketContext context, std::size_t rank) {
  return std::make_unique<PowerSgd>(std::move(context), rank);
}

}  // namespace tutti::v0::detail
