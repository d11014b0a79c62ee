#include "finite_field.hpp"

#include <tutti/error.hpp>

namespace tutti::v0 {

std::optional<PrimePower> prime_power(int q) noexcept {
  if (q < 2) return std::nullopt;
  int prime = 2;
  while (prime <= q / prime && q % prime != 0) ++prime;
  if (q % prime != 0) prime = q;
  int exponent = 0;
  for (; q % prime == 0; q /= prime) ++exponent;
  if (q != 1) return std::nullopt;
  return PrimePower{prime, exponent};
}

FiniteField::FiniteField(int order) : order_{order} {
  const std::optional<PrimePower> power = prime_power(order);
  expects(power.has_value(), "the order of a field is a prime power");
  prime_ = power->prime;
  // In a prime field x is the least suitable number; else c is the least suitable polynomial.
  int tried = 1;
  while (!try_polynomial(power->exponent == 1 ? order - tried : tried)) ++tried;
}

/// Sets x^k = -c(x) for the polynomial c whose coefficients are the digits. It succeeds if the
/// powers of x are all elements but 0: then x^k + c(x) is primitive, and powers are all that
/// multiplication needs.
bool FiniteField::try_polynomial(int coefficients) {
  powers_.assign(1, 1);
  logarithms_.assign(static_cast<std::size_t>(order_), -1);
  const int high = order_ / prime_;  // of x^(k-1)
  for (int element = 1; logarithms_[static_cast<std::size_t>(element)] < 0;) {
    logarithms_[static_cast<std::size_t>(element)] = static_cast<int>(powers_.size()) - 1;
    const int top = element / high;
    element = element % high * prime_;
    for (int times = 0; times < top; ++times) element = minus(element, coefficients);
    if (element == 0) return false;
    powers_.push_back(element);
  }
  powers_.pop_back();
  return static_cast<int>(powers_.size()) == order_ - 1;
}

int FiniteField::plus(int a, int b) const noexcept {
  int sum = 0;
  for (int place = 1; place < order_; place *= prime_)
    sum += (a / place % prime_ + b / place % prime_) % prime_ * place;
  return sum;
}

int FiniteField::minus(int a, int b) const noexcept {
  int difference = 0;
  for (int place = 1; place < order_; place *= prime_)
    difference += (a / place % prime_ - b / place % prime_ + prime_) % prime_ * place;
  return difference;
}

int FiniteField::times(int a, int b) const noexcept {
  if (a == 0 || b == 0) return 0;
  return power(logarithms_[static_cast<std::size_t>(a)] + logarithms_[static_cast<std::size_t>(b)]);
}

}  // namespace tutti::v0
