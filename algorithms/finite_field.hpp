/// @file
/// Arithmetic in GF(q), for any prime power q.
#pragma once

#include <optional>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// A number as the power of a prime.
struct PrimePower {
  int prime;
  int exponent;
};

/// @return q as the power of a prime, if it is one.
[[nodiscard]] std::optional<PrimePower> prime_power(int q) noexcept;

/// GF(q). Elements are 0 .. q - 1: the digits of an element in base p, its characteristic, are the
/// coefficients of a polynomial. A primitive element generates all but 0.
class FiniteField {
 public:
  /// @param order a prime power.
  explicit FiniteField(int order);

  [[nodiscard]] int order() const noexcept { return order_; }
  [[nodiscard]] int plus(int a, int b) const noexcept;
  [[nodiscard]] int minus(int a, int b) const noexcept;
  [[nodiscard]] int times(int a, int b) const noexcept;
  /// @param exponent not negative. @return the primitive element raised to it.
  [[nodiscard]] int power(int exponent) const noexcept {
    return powers_[static_cast<std::size_t>(exponent % (order_ - 1))];
  }

 private:
  [[nodiscard]] bool try_polynomial(int coefficients);

  int order_;
  int prime_;
  std::vector<int> powers_{};      // of the primitive element
  std::vector<int> logarithms_{};  // of every element but 0
};

}  // namespace tutti::v0
