// Objects as bytes without any library: what is flat, what is checked, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/codec.hpp>
#include <tutti/type_name.hpp>

#include "tests/objects/portions.hpp"

namespace tutti::v0 {
namespace {

enum class Fixed : std::int16_t { a = 1 };
enum Unfixed { kUnfixed };
enum class Truth : bool {};
struct Point {
  int x;
  double y;
};
struct Pointing {
  int x;
  int* where;
};
struct Nested {
  Point point;
  float numbers[3];
  Fixed fixed;
};
struct DeepInside {
  int x;
  Pointing pointing;
  int y;
};
struct Tail {
  int x, y;
  int* where;
};
struct HidesItInTheTail {
  Tail tail;
};
struct Matrix {
  double numbers[4][4];
  Point points[2];
};
struct Pointers {
  Pointing all[2];
};
struct Answered {
  int x;
  bool yes;
};
struct Name {
  char letters[64];
  int id;
};
struct Empty {};
struct Derived : Point {
  int z;
};
struct DerivedFromPointing : Pointing {
  int z;
};
struct Bits {
  unsigned low : 3;
  unsigned high : 5;
};
union Either {
  int x;
  float y;
};
struct HasEither {
  int x;
  Either either;
};
struct Secretive {
  explicit Secretive(int value = 0) : x{value} {}
  int x;
};
struct Vouched {
  explicit Vouched(int value = 0) : x{value} {}
  int x;
};
struct Referring {
  int& x;
};
struct Viewing {
  std::string_view text;
};
struct TwoNumbers {
  double x, y;
};
struct ThreeNumbers {
  double x, y, z;
};
struct TwoAligned {
  alignas(16) double x;
  double y;
};
struct NotCopied {
  std::string text;
};
struct Endless {
  using value_type = Endless;
  std::string text;
};

}  // namespace

template <>
inline constexpr bool is_flat<Vouched> = true;
template <>
inline constexpr std::string_view type_name<TwoNumbers> = "Reading";
template <>
inline constexpr std::string_view type_name<ThreeNumbers> = "Reading";
template <>
inline constexpr std::string_view type_name<TwoAligned> = "Reading";
template <>
inline constexpr std::string_view type_name<NotCopied> = "Reading";

namespace {

TEST(Flat, AreNumbersEnumerationsAndAggregatesOfThem) {
  EXPECT_TRUE((is_flat<int> && is_flat<double> && is_flat<std::byte> && is_flat<Fixed>));
  EXPECT_TRUE((is_flat<Point> && is_flat<Nested> && is_flat<Matrix> && is_flat<Name>));
  EXPECT_TRUE((is_flat<Empty> && is_flat<Derived> && is_flat<Bits>));
  EXPECT_TRUE((is_flat<std::array<Point, 5000>> && is_flat<std::complex<float>>));
  EXPECT_TRUE((is_flat<BFloat16> && is_flat<std::chrono::nanoseconds> && is_flat<Vouched>));
}

TEST(Flat, IsNothingThatHoldsAPointerOrABool) {
  EXPECT_FALSE((is_flat<int*> || is_flat<bool> || is_flat<Unfixed> || is_flat<Truth>));
  EXPECT_FALSE((is_flat<Pointing> || is_flat<DeepInside> || is_flat<HidesItInTheTail>));
  EXPECT_FALSE((is_flat<Pointers> || is_flat<DerivedFromPointing> || is_flat<Answered>));
  EXPECT_FALSE((is_flat<Either> || is_flat<HasEither> || is_flat<Secretive>));
  EXPECT_FALSE((is_flat<Referring> || is_flat<Viewing> || is_flat<std::string_view>));
  EXPECT_FALSE((is_flat<std::string>));
}

TEST(Flat, TypesAndOnlyTheyHaveACodecWithoutCereal) {
  EXPECT_TRUE((Encodable<Point> && Encodable<bool> && Encodable<double>));
  EXPECT_FALSE((Encodable<Pointing> || Encodable<std::string> || Encodable<int*>));
  EXPECT_FALSE((Encodable<std::map<int, int>> || Encodable<Answered>));
}

TEST(TypeNames, AreTheCompilersAndHashToDifferentNumbers) {
  EXPECT_EQ(type_name<int>, "int");
  EXPECT_NE(type_name<Point>.find("Point"), std::string_view::npos);
  EXPECT_NE(type_fingerprint<int>(), type_fingerprint<unsigned>());
  EXPECT_NE(type_fingerprint<Point>(), type_fingerprint<Pointing>());
}

// Another program may have another type of the same name.
TEST(TypeNames, AreNotAllThatIsToldApart) {
  const std::set<std::uint64_t> fingerprints{
      type_fingerprint<TwoNumbers>(), type_fingerprint<ThreeNumbers>(),
      type_fingerprint<TwoAligned>(), type_fingerprint<NotCopied>()};
  EXPECT_EQ(fingerprints.size(), 4U);
  EXPECT_EQ(type_fingerprint<NotCopied>(), 0xb8b919fcd36c8c7bU) << "FNV-1a of its name alone";
}

TEST(TypeNames, OfContainersAreNotAllThatIsToldApart) {
  using detail::copied_layout;
  EXPECT_EQ(copied_layout<std::vector<TwoNumbers>>(), copied_layout<TwoNumbers>());
  EXPECT_NE(copied_layout<std::vector<TwoNumbers>>(), copied_layout<std::vector<ThreeNumbers>>());
  EXPECT_NE((copied_layout<std::map<int, TwoNumbers>>()),
            (copied_layout<std::map<int, ThreeNumbers>>()));
  EXPECT_NE((copied_layout<std::map<int, TwoNumbers>>()),
            (copied_layout<std::map<short, TwoNumbers>>()));
  EXPECT_EQ(copied_layout<Endless>(), 0U);
}

TEST(Encoders, LimitEachObjectByItself) {
  Encoder encoder{10};
  const char bytes[11] = {};
  for (int object = 0; object < 3; ++object) {
    encoder.begin_object();
    encoder.write(bytes, 4);
    encoder.write(bytes, 6);
    EXPECT_THROW(encoder.write(bytes, 1), Error);
  }
  EXPECT_EQ(encoder.size(), 30U);
  encoder.drop_object();
  EXPECT_EQ(encoder.size(), 20U);
  volatile std::size_t huge = ~std::size_t{0};  // A compiler that knew it would warn.
  EXPECT_THROW(encoder.write(bytes, huge), Error);
}

TEST(Encoders, KeepWhatTheyHaveWhenTheyGrow) {
  Encoder encoder{std::size_t{1} << 20};
  encoder.begin_object();
  for (std::uint32_t i = 0; i < 10000; ++i) encoder.put(i);
  Decoder decoder{{encoder.data(), encoder.size()}};
  for (std::uint32_t i = 0; i < 10000; ++i) ASSERT_EQ(decoder.get<std::uint32_t>(), i);
  decoder.finish();
}

TEST(Encoders, AppendRunsLikeALengthAndItsBytes) {
  const std::string text(300, 'x');
  Encoder runs{std::size_t{1} << 20};  // whose memory grows amid them, at different places
  Encoder parts{std::size_t{1} << 20};
  runs.begin_object();
  parts.begin_object();
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    runs.put_run(bytes + 1, text.data(), bytes);
    parts.put_count(bytes + 1);
    parts.write(text.data(), bytes);
  }
  ASSERT_EQ(runs.size(), parts.size());
  EXPECT_EQ(std::memcmp(runs.data(), parts.data(), runs.size()), 0);
}

TEST(Encoders, LimitRunsToTheLastByte) {
  const char bytes[13] = {};
  Encoder encoder{20, {std::make_unique<std::byte[]>(64), 64}};
  for (int object = 0; object < 2; ++object) {
    encoder.begin_object();
    encoder.put_run(12, bytes, 12);
    EXPECT_THROW(encoder.put_run(0, bytes, 0), Error);
  }
  EXPECT_EQ(encoder.size(), 40U);
  encoder.begin_object();
  EXPECT_THROW(encoder.put_run(13, bytes, 13), Error);
  encoder.drop_object();
  volatile std::size_t huge = ~std::size_t{0} - 4;  // with its length it would be 3
  EXPECT_THROW(encoder.put_run(1, bytes, huge), Error);
}

/// Gets all calls, and asks for one after every few bytes.
class Listener final : public Outlet {
 public:
  explicit Listener(std::size_t step) : step_{step} {}
  std::size_t encoded(std::size_t bytes) override {
    heard.push_back(bytes);
    return bytes + step_;
  }
  std::vector<std::size_t> heard{};

 private:
  std::size_t step_;
};

TEST(Encoders, CountWhatIsMoreThanTheyKeep) {
  for (const std::size_t bytes : {0U, 99U, 100U, 101U, 5000U}) {
    Encoder encoder{10000, {}, 100};
    encoder.begin_object();
    for (std::size_t i = 0; i < bytes; ++i) encoder.put(static_cast<std::uint8_t>(i));
    EXPECT_EQ(encoder.size(), bytes);
    EXPECT_EQ(encoder.is_counted(), bytes > 100);
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 100); ++i)
      EXPECT_EQ(encoder.data()[i], std::byte{static_cast<std::uint8_t>(i)});
  }
}

TEST(Encoders, CountRunsAndPaddingToo) {
  const std::string text(300, 'x');
  Encoder encoder{1000, {}, 100};
  encoder.begin_object();
  encoder.put_run(1, text.data(), text.size());
  EXPECT_EQ(encoder.size(), 308U);
  encoder.pad(encoder.size() - 5, 12);
  EXPECT_EQ(encoder.size(), 315U);
  EXPECT_THROW(encoder.write(text.data(), 686), Error);
  encoder.write(text.data(), 0);
  encoder.write(text.data(), 3);
  EXPECT_EQ(encoder.size(), 318U);
  encoder.drop_object();
  EXPECT_FALSE(encoder.is_counted());
  encoder.put(std::uint8_t{7});
  EXPECT_EQ(encoder.data()[0], std::byte{7});
}

TEST(Encoders, CountEachObjectByItself) {
  const char bytes[20] = {};
  Encoder encoder{10, {}, 4};
  for (std::size_t object = 0; object < 100; ++object) {
    encoder.begin_object();
    encoder.write(bytes, 4);
    EXPECT_EQ(encoder.is_counted(), object > 0);
    encoder.write(bytes, 1);
    EXPECT_TRUE(encoder.is_counted());
    encoder.drop_object();
    EXPECT_EQ(encoder.is_counted(), object > 0);
    EXPECT_EQ(encoder.size(), 10 * object);
    encoder.write(bytes, 5);
    encoder.write(bytes, 5);
    EXPECT_EQ(encoder.size(), 10 * (object + 1));
    EXPECT_THROW(encoder.write(bytes, 1), Error);
    EXPECT_THROW(encoder.put_run(1, bytes, 0), Error);
  }
}

TEST(Encoders, TellHowFarTheyAre) {
  std::vector<char> wanted;
  for (std::size_t i = 0; i < 1000; ++i) wanted.push_back(static_cast<char>(i * 7));
  for (const std::size_t step : {1U, 3U, 64U, 999U, 1000U, 2000U}) {
    std::vector<std::byte> memory(wanted.size());
    Listener listener{step};
    Encoder encoder{memory, listener};
    std::size_t at = 0;
    for (std::size_t bytes = 0; at < wanted.size(); at += bytes, ++bytes) {
      bytes = std::min(bytes, wanted.size() - at);
      encoder.write(wanted.data() + at, bytes);
    }
    EXPECT_EQ(encoder.size(), wanted.size());
    EXPECT_EQ(std::memcmp(memory.data(), wanted.data(), wanted.size()), 0);
    EXPECT_THROW(encoder.write(wanted.data(), 1), Error) << "more than were counted";
    ASSERT_EQ(listener.heard.size(), (wanted.size() + step - 1) / step);
    for (std::size_t i = 0; i < listener.heard.size(); ++i) EXPECT_EQ(listener.heard[i], i * step);
  }
}

TEST(Decoders, WaitForWhatIsNotThereYet) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 11);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    samples::Portions portions{bytes, seed};
    Decoder decoder{bytes.size(), portions};
    std::size_t at = 0;
    for (std::size_t part = 1; at + 3 * part <= bytes.size(); ++part) {
      EXPECT_EQ(std::memcmp(decoder.pop(part), &bytes[at], part), 0);
      std::vector<std::byte> read(part);
      decoder.read(read.data(), part);
      EXPECT_EQ(std::memcmp(read.data(), &bytes[at + part], part), 0);
      at += 2 * part;
      const auto some = decoder.pop_some(part);
      ASSERT_GE(some.size(), 1U);
      ASSERT_LE(some.size(), part);
      EXPECT_EQ(std::memcmp(some.data(), &bytes[at], some.size()), 0);
      at += some.size();
      EXPECT_EQ(decoder.remaining(), bytes.size() - at);
    }
    EXPECT_THROW(decoder.finish(), Error);
    EXPECT_THROW(decoder.need(bytes.size() - at + 1), Error);
    decoder.need(bytes.size() - at);
    EXPECT_THROW(static_cast<void>(decoder.pop(bytes.size() - at + 1)), Error);
    EXPECT_THROW(decoder.read(bytes.data(), bytes.size() - at + 1), Error);
    static_cast<void>(decoder.pop(bytes.size() - at));
    EXPECT_THROW(static_cast<void>(decoder.pop_some(1)), Error);
    decoder.finish();
  }
}

TEST(Decoders, RefuseWhatIsNotThere) {
  const std::byte bytes[9] = {std::byte{3}};
  Decoder decoder{bytes};
  EXPECT_THROW(static_cast<void>(decoder.pop(10)), Error);
  EXPECT_THROW(static_cast<void>(decoder.get_count()), Error) << "three, of which one is there";
  EXPECT_THROW(decoder.finish(), Error);
}

TEST(Decoders, CountNoMoreThanThereAreBytes) {
  Encoder encoder{1000};
  encoder.begin_object();
  encoder.put_count(5);
  const std::size_t begin = encoder.size();
  encoder.pad(begin, 5);  // five elements that took no byte
  Decoder decoder{{encoder.data(), encoder.size()}};
  EXPECT_EQ(decoder.get_count(), 5U);
  const std::size_t before = decoder.remaining();
  decoder.skip_padding(before, 5);
  decoder.finish();
}

TEST(Decoders, GoOnlySoDeep) {
  Decoder decoder{{}};
  for (int depth = 0; depth < kDeepestObject; ++depth) decoder.enter();
  EXPECT_THROW(decoder.enter(), Error);
}

TEST(Bools, AreNoughtOrOne) {
  for (int value = 0; value < 256; ++value) {
    const std::byte byte{static_cast<unsigned char>(value)};
    Decoder decoder{{&byte, 1}};
    bool result = false;
    if (value > 1) {
      EXPECT_THROW(Codec<bool>::decode(decoder, result), Error);
      continue;
    }
    Codec<bool>::decode(decoder, result);
    EXPECT_EQ(result, value == 1);
  }
}

}  // namespace
}  // namespace tutti::v0
