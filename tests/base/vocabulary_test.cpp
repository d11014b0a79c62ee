// Names and sizes of datatypes, and fingerprints.
#include <array>
#include <complex>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <tutti/error.hpp>
#include <tutti/operators.hpp>
#include <tutti/spi/fingerprint.hpp>
#include <tutti/types.hpp>

namespace tutti::test {
namespace {

template <class Enum>
void expect_names(int count, std::string_view first) {
  std::set<std::string_view> names;
  for (int i = 0; i < count; ++i) {
    const std::string_view name = name_of(static_cast<Enum>(i));
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(names.insert(name).second) << name << " names two enumerators";
  }
  EXPECT_EQ(name_of(static_cast<Enum>(0)), first);
  EXPECT_EQ(name_of(static_cast<Enum>(count)), "unknown");
}

TEST(Names, are_unique_and_in_the_order_of_the_enumerators) {
  expect_names<Collective>(kCollectives, "all_reduce");
  expect_names<Datatype>(kDatatypes, "i8");
  expect_names<OperatorKind>(kOperatorKinds, "sum");
  expect_names<ErrorCode>(8, "invalid_argument");
  EXPECT_EQ(name_of(Collective::reduce_scatter), "reduce_scatter");
  EXPECT_EQ(name_of(Collective::barrier), "barrier");
  EXPECT_EQ(name_of(Datatype::bf16), "bf16");
  EXPECT_EQ(name_of(Datatype::f64_index), "f64_index");
  EXPECT_EQ(name_of(Datatype::opaque), "opaque");
  EXPECT_EQ(name_of(OperatorKind::max_loc), "max_loc");
  EXPECT_EQ(name_of(OperatorKind::average), "average");
  EXPECT_EQ(name_of(OperatorKind::user), "user");
  EXPECT_EQ(name_of(ErrorCode::peer_dead), "peer_dead");
  EXPECT_EQ(name_of(ErrorCode::bug), "bug");
}

template <class T>
void expect_type(Datatype type) {
  EXPECT_EQ(datatype_of<T>(), type) << name_of(type);
  EXPECT_EQ(size_of(type), sizeof(T)) << name_of(type);
}

TEST(Types, have_their_own_sizes) {
  expect_type<std::int8_t>(Datatype::i8);
  expect_type<std::int16_t>(Datatype::i16);
  expect_type<std::int32_t>(Datatype::i32);
  expect_type<std::int64_t>(Datatype::i64);
  expect_type<std::uint8_t>(Datatype::u8);
  expect_type<std::byte>(Datatype::u8);
  expect_type<bool>(Datatype::u8);
  expect_type<std::uint16_t>(Datatype::u16);
  expect_type<std::uint32_t>(Datatype::u32);
  expect_type<std::uint64_t>(Datatype::u64);
  expect_type<long long>(Datatype::i64);
  expect_type<Float16>(Datatype::f16);
  expect_type<BFloat16>(Datatype::bf16);
  expect_type<float>(Datatype::f32);
  expect_type<double>(Datatype::f64);
  expect_type<std::complex<float>>(Datatype::c32);
  expect_type<std::complex<double>>(Datatype::c64);
  expect_type<Indexed<std::int32_t>>(Datatype::i32_index);
  expect_type<Indexed<std::int64_t>>(Datatype::i64_index);
  expect_type<Indexed<float>>(Datatype::f32_index);
  expect_type<Indexed<double>>(Datatype::f64_index);
  EXPECT_EQ(size_of(Datatype::opaque), 0U);
}

__extension__ using LargeInteger = __int128;

TEST(Types, without_arithmetic_of_ours_are_opaque) {
  struct Point {
    float x, y;
  };
  EXPECT_EQ(datatype_of<Point>(), Datatype::opaque);
  EXPECT_EQ(datatype_of<long double>(), Datatype::opaque);
  EXPECT_EQ(datatype_of<LargeInteger>(), Datatype::opaque);
  EXPECT_EQ(datatype_of<int*>(), Datatype::opaque);
}

TEST(Fingerprints, tell_of_which_call_they_are) {
  const std::uint64_t last = kFingerprintCalls - 1;
  for (const std::uint64_t call : {std::uint64_t{0}, std::uint64_t{7}, last}) {
    const std::uint64_t fingerprint = make_fingerprint(0x123456789abcdef0, call);
    EXPECT_EQ(call_of(fingerprint), call);
    EXPECT_EQ(fingerprint >> 63U, 0U) << "transports compare 63 bits";
    EXPECT_NE(fingerprint, make_fingerprint(0x123456789abcdef1, call));
    EXPECT_FALSE(is_before(fingerprint, call));
    EXPECT_TRUE(is_before(fingerprint, call + 1));  // also where numbers come again
    EXPECT_TRUE(is_before(fingerprint, call + 1000));
  }
  const std::uint64_t of_two = fingerprint_of_two(Datatype::opaque, 12345);
  EXPECT_EQ(of_two >> 63U, 0U);
  EXPECT_EQ(type_of_two(of_two), Datatype::opaque);
  EXPECT_EQ(element_bytes_of_two(of_two), 12345U);
  EXPECT_FALSE(is_before(of_two, 7)) << "it may wait without a limit";
  EXPECT_FALSE(is_of_two(make_fingerprint(~std::uint64_t{0}, last)));
  const std::uint64_t ahead = make_fingerprint(1, 5'000'000);
  EXPECT_FALSE(is_before(ahead, 4'999'999));
  EXPECT_FALSE(is_before(ahead, 3)) << "a rank may be ahead by millions";
}

// docs/matrix.md has the table of all operators and datatypes, which tests/matrix compares.
TEST(Operators, outside_the_enumeration_are_defined_for_no_datatype) {
  EXPECT_FALSE(is_defined(static_cast<OperatorKind>(kOperatorKinds), Datatype::i32));
}

}  // namespace
}  // namespace tutti::test
