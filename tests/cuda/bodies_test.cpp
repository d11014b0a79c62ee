// Every kernel's body, run for all its threads on the host, against the oracle: datatypes,
// operators, numbers of operands and results, lengths, alignments, aliases and divisors.
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/error.hpp>

#include "backends/cuda/fold_work.hpp"
#include "bodies.hpp"
#include "tests/backends/host/oracle.hpp"

namespace tutti::v0::cuda {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::byte kCanary{0xc3};
constexpr std::size_t kMargin = 64;

/// An array at a chosen distance from a multiple of 64 bytes, with canaries on both sides.
class Array {
 public:
  Array(const Bytes& content, std::size_t offset) : bytes_{content.size()} {
    storage_.assign(bytes_ + 3 * kMargin, kCanary);
    const auto begin = reinterpret_cast<std::uintptr_t>(storage_.data());
    data_ = storage_.data() + kMargin + (kMargin - begin % kMargin) % kMargin + offset;
    std::ranges::copy(content, data_);
  }
  Array(Array&&) = default;  // the storage does not move
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes content() const { return {data_, data_ + bytes_}; }
  [[nodiscard]] bool is_intact() const {
    const auto is_canary = [](std::byte byte) { return byte == kCanary; };
    const std::byte* const end = storage_.data() + storage_.size();
    return std::all_of(storage_.data(), static_cast<const std::byte*>(data_), is_canary) &&
           std::all_of(static_cast<const std::byte*>(data_ + bytes_), end, is_canary);
  }

 private:
  std::size_t bytes_;
  Bytes storage_{};
  std::byte* data_ = nullptr;
};

/// A fold that is checked.
struct Case {
  test::FoldCase fold{};
  std::size_t operands = 2;
  std::size_t results = 1;
  std::size_t count = 1;
  std::size_t offset = 0;   // of all arrays
  std::size_t further = 0;  // of the results beyond that
  std::size_t threads = 5;
  bool in_place = false;
  bool by_peers = false;  // operands lie where their addresses stand, all but the first
  bool is_tame = false;   // see tame_elements
};

/// Elements whose sums and products of hundreds stay finite numbers, unlike those of hard elements:
/// powers of two of both signs, without imaginary parts.
Bytes tame_elements(Datatype type, std::size_t count, std::size_t seed) {
  Bytes bytes = test::hard_elements(type, count, seed);
  const auto fill = [&](auto zero, std::size_t stride) {
    constexpr std::array kValues{-2.0F, -1.0F, -0.5F, 0.5F, 1.0F, 2.0F};
    const std::size_t each = sizeof zero;
    for (std::size_t i = 0; i * each < bytes.size(); ++i) {
      auto value = zero;
      if (i % stride == 0)
        value = static_cast<decltype(zero)>(kValues[(seed * 7 + i * 5 + i * seed) % 6]);
      std::memcpy(bytes.data() + i * each, &value, each);
    }
  };
  // Integers wrap, and indexed elements are compared: both are tame.
  with_element_type(type, [&]<class T>(const ElementType<T>&) {
    if constexpr (requires { typename T::value_type; }) fill(typename T::value_type{}, 2);
    else if constexpr (is_any_of(datatype_of<T>(), ElementKind::real)) fill(T{}, 1);
  });
  return bytes;
}

Bytes expected(const Case& which, const std::vector<Array>& operands) {
  const std::size_t bytes = size_of(which.fold.type);
  Bytes result(which.count * bytes);
  std::vector<const std::byte*> element(operands.size());
  for (std::size_t i = 0; i < which.count; ++i) {
    for (std::size_t j = 0; j < operands.size(); ++j) element[j] = operands[j].data() + i * bytes;
    test::expected_element(which.fold, element, result.data() + i * bytes);
  }
  return result;
}

void check(const Case& which) {
  const Datatype type = which.fold.type;
  std::vector<Array> operands;
  std::vector<Array> results;
  const auto elements = which.is_tame ? tame_elements : test::hard_elements;
  for (std::size_t i = 0; i < which.operands; ++i)
    operands.emplace_back(elements(type, which.count, 100 * which.count + i), which.offset);
  for (std::size_t i = 0; i < which.results; ++i)
    results.emplace_back(Bytes(which.count * size_of(type), std::byte{0x77}),
                         which.offset + which.further);
  const Bytes wanted = expected(which, operands);
  std::vector<const void*> from;
  for (const Array& operand : operands) from.push_back(operand.data());
  std::vector<void*> copies;
  for (std::size_t i = 1; i < results.size(); ++i) copies.push_back(results[i].data());
  std::byte* const destination = which.in_place ? operands.back().data() : results.front().data();
  const Operator op{which.fold.kind};
  const Fold fold{.type = type,
                  .op = &op,
                  .destination = destination,
                  .operands = from,
                  .count = which.count,
                  .divisor = which.fold.divisor,
                  .copies = copies,
                  .exponents = which.fold.exponents,
                  .divisor_exponent = which.fold.divisor_exponent};
  std::vector<std::byte*> cells(which.operands);
  std::vector<PeerAddress> peers;
  for (std::size_t i = 1; i < which.operands && which.by_peers; ++i) {
    const std::size_t offset = 16 * i;
    cells[i] = operands[i].data() - offset;
    peers.push_back({.operand = i, .cell = &cells[i], .offset = offset});
  }
  Bytes carried(which.count * carried_bytes(type));
  for (std::size_t launch = 0; launch < launches_of(fold); ++launch) {
    FoldWork work = work_of(fold, launch, carried.data());
    put_peers(work.kernel, peers);
    const Body body = body_of("tutti_fold_" + std::string{name_of(work.type)});
    ASSERT_NE(body, nullptr);
    for (std::size_t thread = 0; thread < which.threads; ++thread)
      body(work.kernel, thread, which.threads);
  }
  const std::string what = std::string{name_of(which.fold.kind)} + " of " +
                           std::string{name_of(type)} + ", " + std::to_string(which.count) +
                           " elements, " + std::to_string(which.operands) + " operands, offset " +
                           std::to_string(which.offset) + ", divisor " +
                           std::to_string(which.fold.divisor);
  for (std::size_t i = which.in_place ? 1 : 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].content(), wanted) << what << ", result " << i;
    ASSERT_TRUE(results[i].is_intact()) << what << ", result " << i;
  }
  if (which.in_place) {
    ASSERT_EQ(operands.back().content(), wanted) << what << ", in place";
  }
  for (const Array& operand : operands) ASSERT_TRUE(operand.is_intact()) << what;
}

class Bodies : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static Datatype type() { return static_cast<Datatype>(GetParam()); }
  /// @return the least alignment of elements.
  [[nodiscard]] static std::size_t alignment() {
    return std::min<std::size_t>(size_of(type()),
                                 type() >= Datatype::c32 && size_of(type()) == 8 ? 4 : 8);
  }
};

TEST_P(Bodies, GiveWhatTheOracleSays) {
  for (const OperatorKind kind : test::operators_of(type()))
    for (const std::size_t operands : {2, 3, 5})
      for (const std::size_t count : {1, 2, 7, 16, 33, 1000})
        check({.fold = {type(), kind}, .operands = operands, .count = count});
}

TEST_P(Bodies, TakeElementsAtAnyAlignment) {
  for (std::size_t offset = 0; offset < kChunkBytes; offset += alignment())
    for (const std::size_t further : {std::size_t{0}, alignment()})
      for (const std::size_t count : {1, 3, 17, 64})
        check({.fold = {type(), test::operators_of(type()).front()},
               .count = count,
               .offset = offset,
               .further = further});
}

TEST_P(Bodies, StoreInSeveralPlacesAndInPlace) {
  for (const OperatorKind kind : test::operators_of(type()))
    for (const std::size_t results : {1, 2, 4})
      for (const bool in_place : {false, true})
        check({.fold = {type(), kind}, .results = results, .count = 100, .in_place = in_place});
}

TEST_P(Bodies, DivideAverages) {
  for (const OperatorKind kind : test::operators_of(type())) {
    if (kind != OperatorKind::average) continue;
    for (const int divisor : {2, 3, 7, 100})
      for (const std::size_t operands : {1, 2})
        check({.fold = {type(), kind, divisor}, .operands = operands, .count = 500});
  }
}

TEST_P(Bodies, ScaleOperandsOfAveragesOfHalves) {
  if (type() != Datatype::f16 && type() != Datatype::bf16) return;
  for (const std::size_t operands : {std::size_t{2}, std::size_t{5}, kPassedAddresses + 10}) {
    test::FoldCase fold{type(), OperatorKind::average, 300, {}, -9};
    for (std::size_t i = 0; i < operands; ++i)
      fold.exponents.push_back(static_cast<std::int8_t>(-static_cast<int>(i % 4)));
    check({.fold = fold, .operands = operands, .count = 100});
    check({.fold = fold, .operands = operands, .count = 100, .is_tame = true});
    fold.divisor = 1;
    fold.divisor_exponent = 0;
    check({.fold = fold, .operands = operands, .count = 100, .by_peers = operands == 5});
  }
}

TEST_P(Bodies, ShareTheWorkAmongAnyNumberOfThreads) {
  for (const std::size_t threads : {1, 2, 31, 256, 5000})
    check({.fold = {type(), test::operators_of(type()).front()}, .count = 777, .threads = threads});
}

TEST_P(Bodies, CarryValuesBetweenLaunchesOfManyOperands) {
  for (const OperatorKind kind : test::operators_of(type()))
    for (const std::size_t operands :
         {kPassedAddresses - 1, kPassedAddresses, 2 * kPassedAddresses + 1})
      for (const std::size_t results : {1, 2})
        for (const bool in_place : {false, true})
          check({.fold = {type(), kind, kind == OperatorKind::average ? 3 : 1},
                 .operands = operands,
                 .results = results,
                 .count = 37,
                 .offset = 16 - size_of(type()) % 16,
                 .in_place = in_place,
                 .is_tame = results == 1});
}

TEST_P(Bodies, FoldTwoOperandsInPairsOfChunks) {
  const std::size_t chunk = kChunkBytes / std::min(kChunkBytes, size_of(type()));
  for (const std::size_t threads : {1, 2, 5})
    for (std::size_t chunks = 0; chunks < 13; ++chunks)
      for (const bool in_place : {false, true})
        check({.fold = {type(), test::operators_of(type()).front()},
               .count = chunks * chunk + 1,
               .threads = threads,
               .in_place = in_place});
}

TEST_P(Bodies, FindOperandsOfPeersByThemselves) {
  for (const std::size_t operands : {2, 8})
    for (const std::size_t count : {1, 17, 640})
      for (const std::size_t further : {std::size_t{0}, alignment()})
        check({.fold = {type(), test::operators_of(type()).back()},
               .operands = operands,
               .count = count,
               .further = further,
               .by_peers = true});
}

std::string name_of_case(const ::testing::TestParamInfo<int>& info) {
  return std::string{name_of(static_cast<Datatype>(info.param))};
}

INSTANTIATE_TEST_SUITE_P(Types, Bodies, ::testing::Range(0, static_cast<int>(Datatype::opaque)),
                         name_of_case);

TEST(FoldWork, RefusesPlacesThatAreNoneOfAnElement) {
  alignas(16) std::array<std::byte, 64> memory{};
  const std::array<const void*, 2> operands{memory.data(), memory.data() + 2};
  try {
    static_cast<void>(work_of({.type = Datatype::f32,
                               .op = &sum,
                               .destination = memory.data(),
                               .operands = operands,
                               .count = 4}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(), "elements of f32 in memory of a GPU begin at multiples of 4 bytes");
  }
}

// No test here runs the image, in which the driver finds kernels by name.
TEST(Kernels, AreThereForEveryDatatype) {
  std::ifstream file{TUTTI_KERNELS};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  for (int i = 0; i < static_cast<int>(Datatype::opaque); ++i) {
    const std::string name{name_of(static_cast<Datatype>(i))};
    EXPECT_NE(text.find("void tutti_fold_" + name + "("), std::string::npos) << name;
  }
}

TEST(FoldWork, LoadsSixteenBytesAtATimeWhereAllPlacesAllowIt) {
  alignas(16) std::array<std::byte, 256> memory{};
  const auto work = [&](std::size_t one, std::size_t other) {
    const std::array<const void*, 2> operands{memory.data() + one, memory.data() + other};
    return work_of({.type = Datatype::f32,
                    .op = &sum,
                    .destination = memory.data() + one,
                    .operands = operands,
                    .count = 20})
        .kernel;
  };
  EXPECT_EQ(work(0, 128).chunks, 5U);
  EXPECT_EQ(work(0, 128).head, 0U);
  EXPECT_EQ(work(4, 132).chunks, 4U);
  EXPECT_EQ(work(4, 132).head, 3U);
  EXPECT_EQ(work(4, 128).chunks, 0U);
}

}  // namespace
}  // namespace tutti::v0::cuda
