// The first difference between two recorded runs, and its size.
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <tutti/error.hpp>
#include <tutti/spi/recording.hpp>

#include "tests/support/german_numbers.hpp"

namespace tutti::test {
namespace {

using Recordings = std::vector<Recording>;

/// The difference of two runs of one rank and one call with one element, behind an equal one.
template <class T>
Difference difference_of(const T& a, const T& b) {
  Recordings first(1);
  Recordings second(1);
  first[0].add("x", std::vector<T>{T{}, a});
  second[0].add("x", std::vector<T>{T{}, b});
  const auto found = first_difference(first, second);
  if (!found) throw std::runtime_error{"no difference"};
  EXPECT_EQ(found->call, 0u);
  EXPECT_EQ(found->rank, 0);
  EXPECT_EQ(found->element, 1u);
  return *found;
}

template <class T>
T half_of_bits(std::uint16_t bits) {
  return std::bit_cast<T>(bits);
}

TEST(RecordedRuns, OfEqualRunsDoNotDiffer) {
  Recordings first(2);
  Recordings second(2);
  for (Recordings* const run : {&first, &second})
    for (Recording& rank : *run) {
      rank.add("floats", std::array{1.0F, std::numeric_limits<float>::quiet_NaN()});
      rank.add("nothing", std::vector<double>{});
    }
  EXPECT_FALSE(first_difference(first, second));
  EXPECT_FALSE(first_difference(Recordings{}, Recordings{}));
}

TEST(RecordedRuns, DifferInUnitsInTheLastPlace) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(difference_of(1.0F, std::nextafter(1.0F, 2.0F)).distance, 1u);
  EXPECT_EQ(difference_of(std::nextafter(1.0F, 0.0F), std::nextafter(1.0F, 2.0F)).distance, 2u);
  EXPECT_EQ(difference_of(-tiny, tiny).distance, 2u);
  EXPECT_EQ(difference_of(std::numeric_limits<float>::max(), infinity).distance, 1u);
  EXPECT_EQ(difference_of(1.0, std::nextafter(1.0, 2.0)).distance, 1u);
  EXPECT_EQ(difference_of(1.0F, 2.0F).distance, 1u << 23);
  EXPECT_EQ(difference_of(-std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::infinity())
                .distance,
            2 * std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(difference_of(half_of_bits<Float16>(0x3c00), half_of_bits<Float16>(0x3c03)).distance,
            3u);
  EXPECT_EQ(difference_of(half_of_bits<BFloat16>(0xbf80), half_of_bits<BFloat16>(0xbf7e)).distance,
            2u);
}

TEST(RecordedRuns, DifferInTheirZerosSigns) {
  const Difference found = difference_of(0.0F, -0.0F);
  EXPECT_EQ(found.distance, 0u);
  EXPECT_EQ(found.explanation, "0 and -0, zeros of unlike sign");
}

TEST(RecordedRuns, DifferWithoutADistanceWhereThereIsNoNumber) {
  const float other = std::bit_cast<float>(0x7fc0'0001u);
  EXPECT_FALSE(difference_of(1.0F, std::nanf("")).distance);
  EXPECT_FALSE(difference_of(std::nanf(""), other).distance);
  EXPECT_FALSE(difference_of(half_of_bits<Float16>(0x7c01), Float16{1.0F}).distance);
  EXPECT_FALSE(difference_of(half_of_bits<BFloat16>(0x7f81), BFloat16{1.0F}).distance);
  struct Triple {
    std::uint8_t of[3];
  };
  const Difference found = difference_of(Triple{{1, 2, 3}}, Triple{{1, 2, 4}});
  EXPECT_FALSE(found.distance);
  EXPECT_EQ(found.explanation, "byte 2 of an opaque element");
}

TEST(RecordedRuns, DifferInPartsOfElements) {
  using Complex = std::complex<double>;
  const Difference found = difference_of(Complex{2, 1}, Complex{2, std::nextafter(1.0, 0.0)});
  EXPECT_EQ(found.distance, 1u);
  EXPECT_EQ(found.explanation.rfind("imaginary part 1 and 0.99999999999999989, 1 unit in the", 0),
            0u)
      << found.explanation;
  EXPECT_EQ(difference_of(std::complex{1.0F, 5.0F}, std::complex{2.0F, 9.0F}).distance, 1u << 23);
  EXPECT_EQ(difference_of(Indexed<double>{1.0, 4}, Indexed<double>{1.0, 9}).distance, 5u);
  EXPECT_EQ(difference_of(Indexed<std::int64_t>{-1, 4}, Indexed<std::int64_t>{1, 9}).distance, 2u);
  EXPECT_EQ(difference_of(Indexed<float>{1.0F, 0}, Indexed<float>{2.0F, 0}).distance, 1u << 23);
}

TEST(RecordedRuns, DoNotDifferInPadding) {
  Indexed<double> one;
  Indexed<double> other;
  std::memset(&one, 1, sizeof one);
  std::memset(&other, 2, sizeof other);
  one.value = other.value = 3.0;
  one.index = other.index = 4;
  Recordings first(1);
  Recordings second(1);
  first[0].add("x", std::span{&one, 1});
  second[0].add("x", std::span{&other, 1});
  EXPECT_FALSE(first_difference(first, second));
}

TEST(RecordedRuns, DifferByIntegers) {
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(difference_of(std::int8_t{-128}, std::int8_t{127}).distance, 255u);
  EXPECT_EQ(difference_of(std::int16_t{3}, std::int16_t{-3}).distance, 6u);
  EXPECT_EQ(difference_of(-7, 7).explanation, "-7 and 7, 14 apart");
  const GermanNumbers numbers;
  EXPECT_EQ(difference_of(-7000, 7000).explanation, "-7000 and 7000, 14000 apart");
  EXPECT_EQ(difference_of(Limits::min(), Limits::max()).distance, ~std::uint64_t{0});
  EXPECT_EQ(difference_of(std::uint64_t{1}, ~std::uint64_t{0}).distance, ~std::uint64_t{0} - 1);
  EXPECT_EQ(difference_of(std::uint8_t{255}, std::uint8_t{1}).distance, 254u);
  EXPECT_EQ(difference_of(std::uint32_t{5}, std::uint32_t{9}).distance, 4u);
}

TEST(RecordedRuns, DifferFirstByCallThenRankThenElement) {
  Recordings first(3);
  for (Recording& rank : first)
    for (const char* const name : {"a", "b", "c"}) rank.add(name, std::array{1, 2, 3, 4});
  const auto run_with =
      [&](std::vector<std::array<std::size_t, 3>> places) {  // rank, call, element
        Recordings run(3);
        for (std::size_t rank = 0; rank < 3; ++rank)
          for (std::size_t call = 0; call < 3; ++call) {
            std::array values{1, 2, 3, 4};
            for (const auto& [r, c, element] : places)
              if (r == rank && c == call) values[element] += 10;
            run[rank].add(std::string(1, static_cast<char>('a' + call)), values);
          }
        return run;
      };
  const auto found =
      first_difference(first, run_with({{0, 2, 0}, {2, 1, 1}, {1, 1, 3}, {1, 1, 2}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "call 1 (b), rank 1, element 2: 3 and 13, 10 apart");
}

TEST(RecordedRuns, DifferInWhatWasCalled) {
  const auto explanation = [](const Recording& a, const Recording& b) {
    const auto found = first_difference(std::span{&a, 1}, std::span{&b, 1});
    EXPECT_TRUE(found && !found->distance);
    return found ? found->explanation : "";
  };
  const auto with = [](const char* name, const auto& elements) {
    Recording recording;
    recording.add(name, elements);
    return recording;
  };
  const Recording ints = with("x", std::array{1, 2});
  EXPECT_EQ(explanation(ints, with("y", std::array{1, 2})), "the second run calls it \"y\"");
  EXPECT_EQ(explanation(ints, with("x", std::array{1.0F, 2.0F})), "i32 and f32 elements");
  EXPECT_EQ(explanation(ints, with("x", std::array{1})), "2 and 1 elements");
  EXPECT_EQ(explanation(ints, Recording{}), "the second run has no such call");
  EXPECT_EQ(explanation(Recording{}, ints), "the first run has no such call");
  EXPECT_THROW((void)first_difference(Recordings(1), Recordings(2)), Error);
}

TEST(RecordedRuns, AreWrittenAndRead) {
  Recording recording;
  recording.add("step 1", std::array{1.0F, -0.0F});
  recording.add("step 2", std::vector<std::complex<double>>{{1, 2}});
  recording.add("", std::vector<std::uint8_t>{});
  std::stringstream file;
  recording.write(file);
  const Recording again = Recording::read(file);
  ASSERT_EQ(again.results().size(), 3u);
  EXPECT_EQ(again.results()[1].name, "step 2");
  EXPECT_FALSE(first_difference(std::span{&recording, 1}, std::span{&again, 1}));
}

TEST(RecordedRuns, ThatAreDamagedAreRefused) {
  Recording recording;
  recording.add("step", std::array{1.0F, 2.0F});
  std::ostringstream file;
  recording.write(file);
  const std::string whole = file.str();
  const auto refusal = [](const std::string& bytes) -> std::string {
    std::istringstream from{bytes};
    try {
      (void)Recording::read(from);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(whole), "");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_NE(refusal(whole.substr(0, bytes)), "") << bytes;
  // Every byte by itself: some changes are other values, none may be more than an Error.
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    (void)refusal(damaged);
  }
}

}  // namespace
}  // namespace tutti::test
