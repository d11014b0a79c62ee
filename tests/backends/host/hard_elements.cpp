#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "oracle.hpp"

namespace tutti::test {
namespace {

using Generator = std::mt19937_64;

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
  switch (type) {
    case Datatype::i8: return append_value(bytes, integer<std::int8_t>(random));
    case Datatype::i16: return append_value(bytes, integer<std::int16_t>(random));
    case Datatype::i32: return append_value(bytes, integer<std::int32_t>(random));
    case Datatype::i64: return append_value(bytes, integer<std::int64_t>(random));
    case Datatype::u8: return append_value(bytes, integer<std::uint8_t>(random));
    case Datatype::u16: return append_value(bytes, integer<std::uint16_t>(random));
    case Datatype::u32: return append_value(bytes, integer<std::uint32_t>(random));
    case Datatype::u64: return append_value(bytes, integer<std::uint64_t>(random));
    case Datatype::f16:
      return append_value(bytes, static_cast<std::uint16_t>(real_bits(random, 16, 10)));
    case Datatype::bf16:
      return append_value(bytes, static_cast<std::uint16_t>(real_bits(random, 16, 7)));
    case Datatype::c32: append_value(bytes, real<float>(random)); [[fallthrough]];
    case Datatype::f32: return append_value(bytes, real<float>(random));
    case Datatype::c64: append_value(bytes, real<double>(random)); [[fallthrough]];
    case Datatype::f64: return append_value(bytes, real<double>(random));
    case Datatype::i32_index: return append_indexed<std::int32_t>(bytes, random);
    case Datatype::i64_index: return append_indexed<std::int64_t>(bytes, random);
    case Datatype::f32_index: return append_indexed<float>(bytes, random);
    case Datatype::f64_index: return append_indexed<double>(bytes, random);
    case Datatype::opaque: return;
  }
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
