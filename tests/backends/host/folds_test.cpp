// Every datatype, operator, number of operands, length, alias and instruction set against the
// oracle.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/error.hpp>
#include <tutti/spi/memory.hpp>

#include "backends/host/host_memory.hpp"
#include "oracle.hpp"

namespace tutti::test {
namespace {

using host::InstructionSet;

constexpr int kNoAlias = -1;
constexpr std::byte kCanary{0xc3};

// An array of its own at an address that no vector is aligned to, with canaries on both sides.
class Array {
 public:
  explicit Array(std::vector<std::byte> content) : size_{content.size()} {
    storage_.assign(size_ + 2 * kMargin, kCanary);
    std::copy(content.begin(), content.end(), storage_.begin() + kMargin);
  }
  std::byte* data() { return storage_.data() + kMargin; }
  std::vector<std::byte> content() const {
    return {storage_.begin() + kMargin, storage_.end() - kMargin};
  }
  bool margins_are_intact() const {
    const auto intact = [](std::byte b) { return b == kCanary; };
    return std::all_of(storage_.begin(), storage_.begin() + kMargin, intact) &&
           std::all_of(storage_.end() - kMargin, storage_.end(), intact);
  }

 private:
  static constexpr std::ptrdiff_t kMargin = 72;
  std::size_t size_;
  std::vector<std::byte> storage_;
};

using Contents = std::vector<std::vector<std::byte>>;

std::vector<std::byte> expected(const FoldCase& which, const Contents& operands,
                                std::size_t count) {
  const std::size_t bytes = size_of(which.type);
  std::vector<std::byte> result(count * bytes);
  std::vector<const std::byte*> element(operands.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < operands.size(); ++j) element[j] = operands[j].data() + i * bytes;
    expected_element(which, element, result.data() + i * bytes);
  }
  return result;
}

// Says where two results differ, in elements.
::testing::AssertionResult same(const std::vector<std::byte>& got,
                                const std::vector<std::byte>& wanted, Datatype type) {
  // Comparing vectors would compare byte by byte, which on megabytes takes seconds if instrumented.
  const bool fits = got.size() == wanted.size();
  if (fits && (got.empty() || std::memcmp(got.data(), wanted.data(), got.size()) == 0))
    return ::testing::AssertionSuccess();
  const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  const std::size_t element = static_cast<std::size_t>(at) / size_of(type);
  auto failure = ::testing::AssertionFailure() << "element " << element << ":";
  for (const auto* bytes : {&got, &wanted}) {
    failure << (bytes == &got ? " got" : " instead of");
    for (std::size_t b = 0; b < size_of(type); ++b)
      failure << " " << static_cast<int>((*bytes)[element * size_of(type) + b]);
  }
  return failure;
}

// Folds copies of the operands; the destination is operand `alias`, or memory of its own.
std::vector<std::byte> folded(Memory& memory, const FoldCase& which, const Contents& operands,
                              int alias) {
  std::vector<Array> arrays{operands.begin(), operands.end()};
  Array separate{std::vector<std::byte>(operands[0].size(), std::byte{0x77})};
  std::vector<const void*> pointers;
  for (Array& array : arrays) pointers.push_back(array.data());
  Array& destination = alias == kNoAlias ? separate : arrays[static_cast<std::size_t>(alias)];
  std::vector<Array> copies(operands.size() % 3, separate);
  std::vector<void*> also;
  for (Array& copy : copies) also.push_back(copy.data());
  const Operator op{which.kind};
  memory.fold({.type = which.type,
               .op = &op,
               .destination = destination.data(),
               .operands = pointers,
               .count = operands[0].size() / size_of(which.type),
               .divisor = which.divisor,
               .copies = also,
               .exponents = which.exponents,
               .divisor_exponent = which.divisor_exponent});
  for (Array& copy : copies) {
    EXPECT_TRUE(copy.margins_are_intact());
    EXPECT_TRUE(same(copy.content(), destination.content(), which.type)) << "a copy differs";
  }
  for (std::size_t j = 0; j < arrays.size(); ++j) {
    EXPECT_TRUE(arrays[j].margins_are_intact());
    if (static_cast<int>(j) == alias) continue;
    EXPECT_TRUE(same(arrays[j].content(), operands[j], which.type))
        << "operand " << j << " was written";
  }
  EXPECT_TRUE(separate.margins_are_intact());
  return destination.content();
}

class Folds : public ::testing::TestWithParam<Datatype> {
 protected:
  void SetUp() override {
    for (const InstructionSet set : host::supported_instruction_sets())
      memories_.emplace_back(host::name_of(set), host::make_host_memory(set));
  }

  void check(const FoldCase& which, std::size_t operand_count, std::size_t count) {
    Contents operands;
    for (std::size_t j = 0; j < operand_count; ++j)
      operands.push_back(hard_elements(which.type, count, 1000 * count + 10 * j + 1));
    const auto wanted = expected(which, operands, count);
    for (int alias = kNoAlias; alias < static_cast<int>(operand_count); ++alias) {
      for (const auto& [name, memory] : memories_) {
        ASSERT_TRUE(same(folded(*memory, which, operands, alias), wanted, which.type))
            << name_of(which.kind) << " of " << name_of(which.type) << ", " << operand_count
            << " operands, " << count << " elements, destination " << alias << ", divisor "
            << which.divisor << ", " << name;
      }
    }
  }

  std::vector<std::pair<std::string_view, std::shared_ptr<Memory>>> memories_;
};

// The bytes again and again, so that there are as many as asked for.
std::vector<std::byte> repeated(const std::vector<std::byte>& pattern, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t at = 0; at < bytes; at += pattern.size())
    std::memcpy(all.data() + at, pattern.data(), std::min(pattern.size(), bytes - at));
  return all;
}

// Large results that are stored twice take a way of their own past the caches.
TEST_P(Folds, that_are_stored_past_the_caches_are_the_same) {
  constexpr std::size_t kLarge = (std::size_t{4} << 20) + 48;
  const std::size_t count = kLarge / size_of(GetParam());
  const std::vector<std::byte> left = repeated(hard_elements(GetParam(), 1009, 1), kLarge);
  const std::vector<std::byte> right = repeated(hard_elements(GetParam(), 1013, 2), kLarge);
  const std::array<const void*, 2> operands{left.data(), right.data()};
  for (const OperatorKind kind :
       {OperatorKind::sum, OperatorKind::average, OperatorKind::max_loc}) {
    if (!is_defined(kind, GetParam())) continue;
    const Operator op{kind};
    // The kernels' own work is the same as elsewhere, so the best ones stand for all.
    for (const auto& [name, memory] : std::span{memories_}.last(1)) {
      std::vector<std::byte> wanted(left.size());
      std::vector<std::byte> got(left.size());
      std::vector<std::byte> copied(left.size() + 1);
      std::array<void*, 1> copies{copied.data()};
      Fold fold{.type = GetParam(),
                .op = &op,
                .destination = wanted.data(),
                .operands = operands,
                .count = count,
                .divisor = kind == OperatorKind::average ? 3 : 1};
      memory->fold(fold);
      fold.destination = got.data();
      fold.copies = copies;
      memory->fold(fold);
      EXPECT_TRUE(same(got, wanted, GetParam())) << name;
      EXPECT_EQ(std::memcmp(copied.data(), wanted.data(), wanted.size()), 0) << name;
      copies[0] = copied.data() + 1;  // where no vector may be stored
      memory->fold(fold);
      EXPECT_EQ(std::memcmp(copied.data() + 1, wanted.data(), wanted.size()), 0) << name;
    }
  }
}

TEST_P(Folds, agree_with_the_oracle_bit_for_bit) {
  for (const OperatorKind kind : operators_of(GetParam()))
    for (const std::size_t operand_count : {1U, 2U, 3U, 5U})
      for (const std::size_t count : {0U, 1U, 7U, 64U, 1000U})
        check({.type = GetParam(), .kind = kind}, operand_count, count);
}

TEST_P(Folds, divide_once_at_the_end) {
  if (!is_defined(OperatorKind::average, GetParam())) {
    EXPECT_FALSE(is_defined(OperatorKind::sum, GetParam()));
    return;
  }
  for (const int divisor : {2, 3, 300})
    for (const std::size_t operand_count : {1U, 2U, 3U, 5U})
      for (const std::size_t count : {0U, 1U, 7U, 1000U, 5000U})
        check({.type = GetParam(), .kind = OperatorKind::average, .divisor = divisor},
              operand_count, count);
}

TEST_P(Folds, scale_operands_of_averages_of_halves) {
  if (GetParam() != Datatype::f16 && GetParam() != Datatype::bf16) return;
  for (const std::size_t count : {0U, 1U, 7U, 1000U, 5000U}) {
    const auto kind = OperatorKind::average;
    check({.type = GetParam(), .kind = kind, .exponents = {-1, -1}}, 2, count);
    check({.type = GetParam(), .kind = kind, .exponents = {0, -3, -1}}, 3, count);
    check({GetParam(), kind, 7, {-3, 0, -2}, -3}, 3, count);
    check({GetParam(), kind, 300, {0}, -9}, 1, count);
  }
}

TEST_P(Folds, give_the_same_bits_when_two_operands_change_places) {
  constexpr std::size_t kCount = 3000;
  const Contents operands{hard_elements(GetParam(), kCount, 5),
                          hard_elements(GetParam(), kCount, 6)};
  const Contents exchanged{operands[1], operands[0]};
  for (const OperatorKind kind : operators_of(GetParam())) {
    const FoldCase which{.type = GetParam(), .kind = kind};
    for (const auto& [name, memory] : memories_) {
      EXPECT_TRUE(same(folded(*memory, which, operands, kNoAlias),
                       folded(*memory, which, exchanged, kNoAlias), which.type))
          << name_of(kind) << ", " << name;
    }
  }
}

TEST_P(Folds, reject_an_operator_that_does_not_fit) {
  const auto bytes = hard_elements(GetParam(), 1, 1);
  std::array<std::byte, 16> out{};
  const std::array<const void*, 2> operands{bytes.data(), bytes.data()};
  for (int i = 0; i < kOperatorKinds; ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    if (is_defined(kind, GetParam())) continue;
    const Operator op{kind};
    const Fold work{
        .type = GetParam(), .op = &op, .destination = out.data(), .operands = operands, .count = 1};
    EXPECT_THROW(memories_[0].second->fold(work), Error) << name_of(kind);
  }
}

std::vector<Datatype> built_in_types() {
  std::vector<Datatype> types;
  for (int i = 0; i < kDatatypes; ++i)
    if (static_cast<Datatype>(i) != Datatype::opaque) types.push_back(static_cast<Datatype>(i));
  return types;
}

INSTANTIATE_TEST_SUITE_P(, Folds, ::testing::ValuesIn(built_in_types()),
                         [](const auto& row) { return std::string{name_of(row.param)}; });

// All values of a 16-bit format through every vector width: adding -0 changes no number.
void expect_exact_round_trip(Datatype type, HalfFormat format) {
  constexpr std::size_t kCount = 65536;
  std::vector<std::uint16_t> all(kCount);
  for (std::size_t i = 0; i < kCount; ++i) all[i] = static_cast<std::uint16_t>(i);
  const std::vector<std::uint16_t> minus_zero(kCount, 0x8000);
  const std::array<const void*, 2> operands{all.data(), minus_zero.data()};
  for (const InstructionSet set : host::supported_instruction_sets()) {
    std::vector<std::uint16_t> result(kCount);
    host::make_host_memory(set)->fold({.type = type,
                                       .op = &sum,
                                       .destination = result.data(),
                                       .operands = operands,
                                       .count = kCount});
    for (std::size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(result[i], encode_half(format, decode_half(format, all[i])))
          << "encoding " << i << ", " << host::name_of(set);
  }
}

TEST(HalfKernels, keep_every_binary16) {
  expect_exact_round_trip(Datatype::f16, kBinary16);
}
TEST(HalfKernels, keep_every_bfloat16) {
  expect_exact_round_trip(Datatype::bf16, kBrain16);
}

// 1 + 2^-11 + 2^-11 is 1 if each sum is rounded to binary16, but 1 + 2^-10 if only the last one is.
TEST(HalfKernels, round_once_per_fold) {
  const std::uint16_t one = encode_half(kBinary16, 1.0);
  const std::uint16_t small = encode_half(kBinary16, 0x1p-11);
  const std::array<const void*, 3> operands{&one, &small, &small};
  std::uint16_t result = 0;
  make_host_memory()->fold({.type = Datatype::f16,
                            .op = &sum,
                            .destination = &result,
                            .operands = operands,
                            .count = 1});
  EXPECT_EQ(result, encode_half(kBinary16, 1.0 + 0x1p-10));
}

}  // namespace
}  // namespace tutti::test
