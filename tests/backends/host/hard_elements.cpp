#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "oracle.hpp"

namespace tutti::test {
namespace {

using Generator = std::mt19937_64;

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

void append(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

template <class T>
T integer(Generator& random) {
  constexpr std::array<T, 5> kSpecial{0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(),
                                      std::numeric_limits<T>::max()};
  const auto bits = random();
  return bits % 4 == 0 ? kSpecial[(bits >> 8) % kSpecial.size()] : static_cast<T>(bits >> 3);
}

// Bits of a floating-point number whose fraction has `fraction_bits` and which has `width` in all.
std::uint64_t real_bits(Generator& random, int width, int fraction_bits) {
  const std::uint64_t bits = random();
  const std::uint64_t sign = (bits & 1) << (width - 1);
  const std::uint64_t all = (std::uint64_t{1} << (width - 1)) - 1;
  const std::uint64_t fraction = (std::uint64_t{1} << fraction_bits) - 1;
  const std::uint64_t one = (all & ~fraction) >> 1 & ~fraction;
  switch ((bits >> 8) % 32) {
    case 0: return sign;                      // zero
    case 1: return sign | (all & ~fraction);  // infinity
    case 2:
      return sign | (all & ~fraction) | 1 | (random() & fraction);  // some NaN, quiet or signalling
    case 3: return sign | (random() & fraction);                    // subnormal
    case 4: return sign | ((all & ~fraction) - 1);                  // the largest number
    case 5:
    case 6: return sign | (random() & all);                          // any exponent
    default: return sign | (one + (random() & (4 * fraction + 3)));  // near one: sums that round
  }
}

template <class T>
T real(Generator& random) {
  constexpr int kFractionBits = std::numeric_limits<T>::digits - 1;
  const std::uint64_t bits = real_bits(random, 8 * sizeof(T), kFractionBits);
  T value;
  if constexpr (sizeof(T) == 4) {
    const auto word = static_cast<std::uint32_t>(bits);
    std::memcpy(&value, &word, sizeof value);
  } else {
    std::memcpy(&value, &bits, sizeof value);
  }
  return value;
}

// Few values and fewer indices, so that ties are common; padding is not zero.
template <class T>
void append_indexed(std::vector<std::byte>& bytes, Generator& random) {
  std::array<std::byte, sizeof(Indexed<T>)> element;
  element.fill(std::byte{0xa5});
  const auto bits = random();
  auto value = static_cast<T>(static_cast<int>(bits % 5) - 2);
  if constexpr (std::is_floating_point_v<T>) {
    if ((bits >> 8) % 6 == 0) value = std::numeric_limits<T>::quiet_NaN();
    if ((bits >> 16) % 2 == 0) value = -value;
  } else {
    if ((bits >> 8) % 6 == 0) value = integer<T>(random);
  }
  const auto index = static_cast<std::int32_t>(bits >> 24 & 3) - 1;
  std::memcpy(element.data(), &value, sizeof value);
  std::memcpy(element.data() + sizeof value, &index, sizeof index);
  append(bytes, element.data(), element.size());
}

template <class T>
void append_value(std::vector<std::byte>& bytes, T value) {
  append(bytes, &value, sizeof value);
}

void append_element(std::vector<std::byte>& bytes, Datatype type, Generator& random) {
  with_element_type(type, [&]<class T>(const ElementType<T>&) {
    if constexpr (std::is_integral_v<T>) {
      append_value(bytes, integer<T>(random));
    } else if constexpr (kIsHalf<T>) {
      constexpr int kFractionBits = std::is_same_v<T, Float16> ? 10 : 7;
      append_value(bytes, static_cast<std::uint16_t>(real_bits(random, 16, kFractionBits)));
    } else if constexpr (std::is_floating_point_v<T>) {
      append_value(bytes, real<T>(random));
    } else if constexpr (requires { typename T::value_type; }) {
      for (int part = 0; part < 2; ++part)
        append_value(bytes, real<typename T::value_type>(random));
    } else {
      append_indexed<decltype(T::value)>(bytes, random);
    }
  });
}

}  // namespace

std::vector<std::byte> hard_elements(Datatype type, std::size_t count, std::uint64_t seed) {
  Generator random{seed};
  std::vector<std::byte> bytes;
  bytes.reserve(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) append_element(bytes, type, random);
  return bytes;
}

std::vector<OperatorKind> operators_of(Datatype type) {
  std::vector<OperatorKind> kinds;
  for (int i = 0; i < kOperatorKinds; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    if (kind != OperatorKind::user && is_defined(kind, type)) kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace tutti::test
