#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle.hpp"

namespace tutti::test {
namespace {

int largest_exponent(HalfFormat format) {
  return (1 << format.exponent_bits) - 1;
}

std::uint16_t sign_bit() {
  return std::uint16_t{1} << 15;
}

}  // namespace

double decode_half(HalfFormat format, std::uint16_t bits) {
  const double sign = (bits & sign_bit()) != 0 ? -1.0 : 1.0;
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int exponent = (bits & ~sign_bit()) >> format.fraction_bits;
  const int bias = largest_exponent(format) / 2;
  if (exponent == largest_exponent(format)) {
    if (fraction != 0) return std::numeric_limits<double>::quiet_NaN();
    return sign * std::numeric_limits<double>::infinity();
  }
  const int hidden = exponent == 0 ? 0 : 1 << format.fraction_bits;
  return sign * std::ldexp(hidden + fraction, std::max(exponent, 1) - bias - format.fraction_bits);
}

std::uint16_t encode_half(HalfFormat format, double value) {
  const int infinity = largest_exponent(format) << format.fraction_bits;
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(infinity + (1 << (format.fraction_bits - 1)));
  }
  const std::uint16_t sign = std::signbit(value) ? sign_bit() : std::uint16_t{0};
  const double magnitude = std::fabs(value);
  // Encodings without the sign are in the order of their values: find the last one not above.
  int below = 0;
  int above = infinity;
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    (decode_half(format, static_cast<std::uint16_t>(middle)) <= magnitude ? below : above) = middle;
  }
  const double low = decode_half(format, static_cast<std::uint16_t>(below));
  // Rounding treats infinity as the value that the exponent after the last would have.
  const int bias = largest_exponent(format) / 2;
  const double high = above == infinity ? std::ldexp(1.0, largest_exponent(format) - bias)
                                        : decode_half(format, static_cast<std::uint16_t>(above));
  const double to_low = magnitude - low;
  const double to_high = high - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && below % 2 != 0);
  return static_cast<std::uint16_t>(sign | (up ? above : below));
}

}  // namespace tutti::test
