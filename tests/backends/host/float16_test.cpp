// The two 16-bit storage types against conversions by definition and by search.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <tutti/float16.hpp>

#include "oracle.hpp"

namespace tutti::test {
namespace {

template <class Half>
struct FormatOf;
template <>
struct FormatOf<Float16> {
  static constexpr HalfFormat kFormat = kBinary16;
};
template <>
struct FormatOf<BFloat16> {
  static constexpr HalfFormat kFormat = kBrain16;
};

template <class Half>
Half with_bits(int bits) {
  Half half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

template <class Half>
class HalfTypes : public ::testing::Test {
 protected:
  static constexpr HalfFormat kFormat = FormatOf<Half>::kFormat;

  static void expect_nearest(float value) {
    const Half half{value};
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(half)));
      return;
    }
    ASSERT_EQ(half.bits, encode_half(kFormat, value)) << std::hexfloat << value;
  }
};

using Types = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(HalfTypes, Types);

TYPED_TEST(HalfTypes, decode_every_encoding_exactly) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = with_bits<TypeParam>(bits);
    const double wanted = decode_half(TestFixture::kFormat, half.bits);
    const auto got = static_cast<float>(half);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), wanted) << bits;
    ASSERT_EQ(std::signbit(got), std::signbit(wanted)) << bits;
  }
}

TYPED_TEST(HalfTypes, keep_every_encoding_on_the_way_through_float) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = with_bits<TypeParam>(bits);
    const auto value = static_cast<float>(half);
    const TypeParam back{value};
    if (std::isnan(value)) {
      // The payload survives; only the quiet bit is added.
      const int quiet_bit = 1 << (TestFixture::kFormat.fraction_bits - 1);
      ASSERT_EQ(back.bits, half.bits | quiet_bit) << bits;
    } else {
      ASSERT_EQ(back, half) << bits;
    }
  }
}

// Ties and their neighbours: the midpoint of every two adjacent values, and one float to each side.
TYPED_TEST(HalfTypes, round_to_nearest_and_ties_to_even) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int bits = 0; bits < 32768; ++bits) {
    const auto low = static_cast<float>(with_bits<TypeParam>(bits));
    if (!std::isfinite(low)) continue;
    auto high = static_cast<double>(static_cast<float>(with_bits<TypeParam>(bits + 1)));
    if (std::isinf(high)) high = low + (low - static_cast<float>(with_bits<TypeParam>(bits - 1)));
    const auto middle = static_cast<float>((static_cast<double>(low) + high) / 2);
    for (const float value :
         {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, kInfinity)}) {
      TestFixture::expect_nearest(value);
      TestFixture::expect_nearest(-value);
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(HalfTypes, round_any_float) {
  std::mt19937 random{11};
  for (int i = 0; i < 200000 && !this->HasFatalFailure(); ++i)
    TestFixture::expect_nearest(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
}

TYPED_TEST(HalfTypes, overflow_to_infinity_and_underflow_to_zero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(static_cast<float>(TypeParam{kInfinity}), kInfinity);
  EXPECT_EQ(static_cast<float>(TypeParam{-kMax}), -kInfinity);
  EXPECT_EQ(TypeParam{kTiny}.bits, 0);
  EXPECT_EQ(TypeParam{-kTiny}.bits, 0x8000);
  // A NaN whose payload is in the bits that are cut off must not become infinity.
  const auto low_payload = std::bit_cast<float>(std::uint32_t{0x7f800001});
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam{low_payload})));
}

}  // namespace
}  // namespace tutti::test
