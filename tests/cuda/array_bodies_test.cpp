// The bodies of kernels over one array, run for all their threads on the host, against oracles that
// share no code with them: datatypes, alignments, lengths, numbers of threads, hard elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/types.hpp>

#include "bodies.hpp"
#include "tests/backends/host/oracle.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr std::array kReals{Datatype::f16, Datatype::bf16, Datatype::f32, Datatype::f64};
constexpr std::byte kFiller{0xc3};
constexpr std::size_t kGap = 64;

/// Bytes at a chosen distance from a multiple of 64, between canaries.
class Guarded {
 public:
  Guarded(const std::vector<std::byte>& content, std::size_t offset)
      : bytes_{content.size()}, storage_(content.size() + 3 * kGap, kFiller) {
    const auto begin = reinterpret_cast<std::uintptr_t>(storage_.data());
    first_ = kGap + (kGap - begin % kGap) % kGap + offset;
    std::ranges::copy(content, data());
  }
  [[nodiscard]] std::byte* data() { return storage_.data() + first_; }
  [[nodiscard]] std::vector<std::byte> content() { return {data(), data() + bytes_}; }
  [[nodiscard]] bool is_intact() const {
    for (std::size_t i = 0; i < storage_.size(); ++i)
      if ((i < first_ || i >= first_ + bytes_) && storage_[i] != kFiller) return false;
    return true;
  }

 private:
  std::size_t bytes_;
  std::size_t first_ = 0;
  std::vector<std::byte> storage_;
};

test::HalfFormat format_of(Datatype type) {
  return type == Datatype::f16 ? test::kBinary16 : test::kBrain16;
}

template <class T>
T loaded(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

double decoded(Datatype type, const std::byte* data) {
  if (type == Datatype::f64) return loaded<double>(data);
  if (type == Datatype::f32) return static_cast<double>(loaded<float>(data));
  return test::decode_half(format_of(type), loaded<std::uint16_t>(data));
}

/// Every NaN has one encoding.
void encode(Datatype type, double value, std::byte* to) {
  const auto store = [to](auto bits) { std::memcpy(to, &bits, sizeof bits); };
  const bool is_none = std::isnan(value);
  if (type == Datatype::f64)
    return is_none ? store(std::uint64_t{0x7ff8000000000000}) : store(value);
  const auto shorter = static_cast<float>(value);
  if (type == Datatype::f32) return is_none ? store(std::uint32_t{0x7fc00000}) : store(shorter);
  store(test::encode_half(format_of(type), static_cast<double>(shorter)));
}

struct ConversionCase {
  Datatype from;
  Datatype to;
  std::size_t count = 1000;
  double factor = 1;
  std::size_t from_offset = 0;  // elements
  std::size_t to_offset = 0;
  std::size_t threads = 7;
  bool in_place = false;
};

void check_conversion(const ConversionCase& which) {
  const std::size_t from_bytes = size_of(which.from);
  const std::size_t to_bytes = size_of(which.to);
  const auto elements = test::hard_elements(which.from, which.count, which.count + 17);
  Guarded from{elements, which.from_offset * from_bytes};
  Guarded to{std::vector<std::byte>(which.count * to_bytes), which.to_offset * to_bytes};
  std::vector<std::byte> wanted(which.count * to_bytes);
  for (std::size_t i = 0; i < which.count; ++i)
    encode(which.to, decoded(which.from, elements.data() + i * from_bytes) * which.factor,
           wanted.data() + i * to_bytes);
  const Conversion work{.from_type = which.from,
                        .to_type = which.to,
                        .count = which.count,
                        .factor = which.factor,
                        .from = from.data(),
                        .to = which.in_place ? from.data() : to.data()};
  for (std::size_t thread = 0; thread < which.threads; ++thread)
    convert_body(work, thread, which.threads);
  const std::string what = std::string{name_of(which.from)} + " to " +
                           std::string{name_of(which.to)} + ", " + std::to_string(which.count) +
                           " elements times " + std::to_string(which.factor);
  ASSERT_EQ((which.in_place ? from : to).content(), wanted) << what;
  ASSERT_TRUE(from.is_intact() && to.is_intact()) << what;
}

TEST(ConvertBody, RoundsOnceFromAnyTypeToAnyOther) {
  for (const Datatype from : kReals)
    for (const Datatype to : kReals)
      for (const double factor : {1.0, 3.0, 4.0 / 3})
        check_conversion({.from = from, .to = to, .factor = factor});
}

TEST(ConvertBody, TakesAnyAlignmentLengthAndNumberOfThreads) {
  for (const Datatype from : {Datatype::f32, Datatype::bf16})
    for (const Datatype to : {Datatype::f16, Datatype::f32})
      for (const std::size_t count : {1, 7, 8, 9, 64, 333})
        for (const std::size_t from_offset : {0, 1, 4})
          for (const std::size_t to_offset : {0, 3, 8})
            for (const std::size_t threads : {1, 2, 500})
              check_conversion({.from = from,
                                .to = to,
                                .count = count,
                                .from_offset = from_offset,
                                .to_offset = to_offset,
                                .threads = threads});
}

TEST(ConvertBody, ScalesInPlace) {
  for (const Datatype type : kReals)
    for (const std::size_t offset : {0, 1})
      check_conversion({.from = type,
                        .to = type,
                        .count = 100,
                        .factor = 1.5,
                        .from_offset = offset,
                        .in_place = true});
}

/// @param sums of before. @return the sums of all threads.
Inspected inspect_all(const Inspection& work, std::size_t threads, const Inspected& before = {}) {
  std::vector<Inspected> sums(threads);
  sums.front() = before;
  Inspection told = work;
  told.sums = sums.data();
  for (std::size_t thread = 0; thread < threads; ++thread) inspect_body(told, thread, threads);
  Inspected all;
  for (const Inspected& one : sums) {
    all.squares += one.squares;
    all.not_finite += one.not_finite;
    all.hash += one.hash;
  }
  return all;
}

TEST(InspectBody, SumsSquaresAndCountsWhatIsNotFinite) {
  for (const Datatype type : kReals)
    for (const std::size_t count : {1, 5, 8, 1000})
      for (const std::size_t offset : {0, 1})
        for (const std::size_t threads : {1, 3, 2000}) {
          auto elements = test::hard_elements(type, count, count + threads);
          double squares = 3;
          std::uint64_t not_finite = 11;
          for (std::size_t i = 0; i < count; ++i) {
            std::byte* const element = elements.data() + i * size_of(type);
            const double value = decoded(type, element);
            // Squares must be finite too.
            if (count != 1000 && !(std::fabs(value) < 1e100)) encode(type, 0.5, element);
            const double kept = decoded(type, element);
            squares += kept * kept;
            if (!std::isfinite(kept)) ++not_finite;
          }
          Guarded place{elements, offset * size_of(type)};
          const Inspected seen = inspect_all({.type = type, .count = count, .data = place.data()},
                                             threads, {3, 11, 0});
          EXPECT_EQ(seen.not_finite, not_finite);
          EXPECT_EQ(seen.hash, 0U);
          if (not_finite == 11) {
            EXPECT_NEAR(seen.squares / squares, 1, 1e-12);
          } else {
            EXPECT_FALSE(std::isfinite(seen.squares));
          }
          EXPECT_EQ(place.content(), elements);
        }
}

TEST(InspectBody, HashesEveryBitInItsPlace) {
  for (const Datatype type :
       {Datatype::u8, Datatype::f16, Datatype::bf16, Datatype::f32, Datatype::f64}) {
    const std::size_t count = 100;
    const std::size_t bytes = size_of(type);
    const auto elements = test::hard_elements(type, count, 5);
    const auto hash_of = [&](const std::vector<std::byte>& content, std::size_t offset,
                             std::size_t threads, std::uint64_t seed = 9) {
      Guarded place{content, offset};
      return inspect_all({.type = type,
                          .with_hash = true,
                          .count = content.size() / bytes,
                          .seed = seed,
                          .data = place.data()},
                         threads)
          .hash;
    };
    const std::uint64_t hash = hash_of(elements, 0, 4);
    EXPECT_EQ(hash_of(elements, bytes, 1000), hash);
    EXPECT_NE(hash_of(elements, 0, 4, 10), hash);
    EXPECT_NE(hash_of({elements.begin(), elements.end() - static_cast<long>(bytes)}, 0, 4), hash);
    for (std::size_t bit = 0; bit < elements.size() * 8; ++bit) {
      auto other = elements;
      other[bit / 8] ^= std::byte{1} << bit % 8;
      ASSERT_NE(hash_of(other, 0, 3), hash) << name_of(type) << ", bit " << bit;
    }
    auto swapped = elements;
    std::swap_ranges(swapped.begin(), swapped.begin() + static_cast<long>(bytes),
                     swapped.begin() + static_cast<long>(bytes));
    if (swapped != elements) {
      EXPECT_NE(hash_of(swapped, 0, 3), hash) << name_of(type);
    }
  }
}

}  // namespace
}  // namespace tutti::v0::cuda
