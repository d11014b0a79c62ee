#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/support/combine.hpp"

namespace tutti::test {
namespace {

using Operands = std::span<const std::byte* const>;

template <class T>
T read(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void write(std::byte* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

template <class T>
void fold_integers(const FoldCase& which, Operands operands, std::byte* out) {
  T result = read<T>(operands[0]);
  for (const std::byte* operand : operands.subspan(1))
    result = combine_integers(which.kind, result, read<T>(operand));
  __extension__ using Wide = __int128;
  write(out, static_cast<T>(static_cast<Wide>(result) / which.divisor));
}

template <class T>
T quieted(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
T divided(T value, int divisor) {
  return quieted(divisor == 1 ? value : rounded<T>(static_cast<double>(value) / divisor));
}

template <class T>
void fold_reals(const FoldCase& which, Operands operands, std::byte* out) {
  T result = read<T>(operands[0]);
  for (const std::byte* operand : operands.subspan(1))
    result = combine_reals(which.kind, result, read<T>(operand));
  write(out, divided(result, which.divisor));
}

void fold_halves(HalfFormat format, const FoldCase& which, Operands operands, std::byte* out) {
  const auto decoded = [&](const std::byte* bytes) {
    return static_cast<float>(decode_half(format, read<std::uint16_t>(bytes)));
  };
  if (which.exponents.empty()) {
    float result = decoded(operands[0]);
    for (const std::byte* operand : operands.subspan(1))
      result = combine_reals(which.kind, result, decoded(operand));
    return write(out, encode_half(format, divided(result, which.divisor)));
  }
  // Half of it, which is in the range of float.
  float half = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const float operand = std::ldexp(decoded(operands[i]), which.exponents[i] - 1);
    half = i == 0 ? operand : combine_reals(OperatorKind::sum, half, operand);
  }
  const double divisor = std::ldexp(which.divisor, which.divisor_exponent);
  double mean = 2.0 * rounded<float>(static_cast<double>(half) / divisor);
  const double largest = format.exponent_bits == 5 ? 65504.0 : 0x1.fep127;
  if (std::isfinite(half)) mean = std::clamp(mean, -largest, largest);
  write(out, encode_half(format, quieted(mean)));
}

template <class T>
void fold_complex(const FoldCase& which, Operands operands, std::byte* out) {
  T real = read<T>(operands[0]);
  T imaginary = read<T>(operands[0] + sizeof(T));
  for (const std::byte* operand : operands.subspan(1)) {
    const auto re = static_cast<double>(read<T>(operand));
    const auto im = static_cast<double>(read<T>(operand + sizeof(T)));
    if (which.kind == OperatorKind::prod) {
      const double re_re = rounded<T>(real * re);
      const double im_im = rounded<T>(imaginary * im);
      const double re_im = rounded<T>(real * im);
      const double im_re = rounded<T>(imaginary * re);
      real = rounded<T>(re_re - im_im);
      imaginary = rounded<T>(re_im + im_re);
    } else {
      real = rounded<T>(real + re);
      imaginary = rounded<T>(imaginary + im);
    }
  }
  write(out, divided(real, which.divisor));
  write(out + sizeof(T), divided(imaginary, which.divisor));
}

template <class T>
bool is_nan(T value) {
  return value != value;
}

// Looks at all operands at once, where the kernels go from left to right.
template <class T>
void fold_indexed(const FoldCase& which, Operands operands, std::byte* out) {
  std::vector<Indexed<T>> candidates;
  for (const std::byte* operand : operands)
    candidates.push_back({read<T>(operand), read<std::int32_t>(operand + sizeof(T))});
  const auto keep = [&](auto predicate) {
    if (std::any_of(candidates.begin(), candidates.end(), predicate))
      std::erase_if(candidates, [&](const Indexed<T>& c) { return !predicate(c); });
  };
  keep([](const Indexed<T>& c) { return is_nan(c.value); });
  T best = candidates[0].value;
  for (const Indexed<T>& c : candidates)
    best = which.kind == OperatorKind::min_loc ? std::min(best, c.value) : std::max(best, c.value);
  keep([&](const Indexed<T>& c) { return c.value == best; });
  std::int32_t lowest = candidates[0].index;
  for (const Indexed<T>& c : candidates) lowest = std::min(lowest, c.index);
  keep([&](const Indexed<T>& c) { return c.index == lowest; });
  keep([&](const Indexed<T>& c) { return std::signbit(static_cast<double>(c.value)); });
  std::fill_n(out, sizeof(Indexed<T>), std::byte{0});
  const T value = candidates[0].value;
  if constexpr (std::is_floating_point_v<T>) write(out, quieted(value));
  else write(out, value);
  write(out + sizeof(T), lowest);
}

}  // namespace

void expected_element(const FoldCase& which, Operands operands, std::byte* out) {
  if (operands.size() == 1 && which.divisor == 1) {
    std::copy_n(operands[0], size_of(which.type), out);
    return;
  }
  with_element_type(which.type, [&]<class T>(const ElementType<T>&) {
    if constexpr (std::is_integral_v<T>) fold_integers<T>(which, operands, out);
    else if constexpr (std::is_same_v<T, Float16>) fold_halves(kBinary16, which, operands, out);
    else if constexpr (std::is_same_v<T, BFloat16>) fold_halves(kBrain16, which, operands, out);
    else if constexpr (std::is_floating_point_v<T>) fold_reals<T>(which, operands, out);
    else if constexpr (requires { typename T::value_type; })
      fold_complex<typename T::value_type>(which, operands, out);
    else fold_indexed<decltype(T::value)>(which, operands, out);
  });
}

}  // namespace tutti::test
