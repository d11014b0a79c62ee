// A user's operator: order of operands, aliases, elements of any size, and the fold's own checks.
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>

#include <tutti/error.hpp>
#include <tutti/spi/memory.hpp>

#include "backends/host/host_memory.hpp"
#include "backends/host/kernels.hpp"

namespace tutti::test {
namespace {

// x -> scale * x + shift, modulo 2^32. Composition is associative and does not commute. The rest of
// the element is ballast that composition must carry along.
template <std::size_t kBallast>
struct Affine {
  std::uint32_t scale;
  std::uint32_t shift;
  std::array<std::uint32_t, kBallast> ballast;
  friend bool operator==(const Affine&, const Affine&) = default;
};

template <class T>
T composed(const T& left, const T& right) {
  T result{};
  result.scale = left.scale * right.scale;
  result.shift = left.shift * right.scale + right.shift;
  for (std::size_t i = 0; i < result.ballast.size(); ++i)
    result.ballast[i] = 3 * left.ballast[i] + right.ballast[i];
  return result;
}

template <class T>
void compose(const void* left, const void* right, void* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a{};
    T b{};
    std::memcpy(&a, static_cast<const T*>(left) + i, sizeof(T));
    std::memcpy(&b, static_cast<const T*>(right) + i, sizeof(T));
    const T result = composed(a, b);
    std::memcpy(static_cast<T*>(out) + i, &result, sizeof(T));
  }
}

template <class T>
std::vector<T> elements(std::size_t count, std::uint32_t seed) {
  std::vector<T> result(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    result[i] = {.scale = 2 * (i + seed) + 3, .shift = 7 * i + 13 * seed, .ballast = {}};
    result[i].ballast.fill(i + seed);
  }
  return result;
}

template <class T>
void check(std::size_t operand_count, std::size_t count, std::size_t alias) {
  std::vector<std::vector<T>> operands;
  for (std::size_t j = 0; j < operand_count; ++j)
    operands.push_back(elements<T>(count, static_cast<std::uint32_t>(j + 1)));
  std::vector<T> wanted = operands[0];
  for (std::size_t j = 1; j < operand_count; ++j)
    for (std::size_t i = 0; i < count; ++i) wanted[i] = composed(wanted[i], operands[j][i]);

  std::vector<T> separate(count);
  std::vector<T>& destination = alias < operand_count ? operands[alias] : separate;
  std::vector<const void*> pointers;
  for (const auto& operand : operands) pointers.push_back(operand.data());
  const Operator op{compose<T>, false};
  make_host_memory()->fold({.type = Datatype::opaque,
                            .element_bytes = sizeof(T),
                            .op = &op,
                            .destination = destination.data(),
                            .operands = pointers,
                            .count = count});
  EXPECT_TRUE(destination == wanted) << operand_count << " operands of " << count << " elements of "
                                     << sizeof(T) << " bytes, destination " << alias;
}

template <class T>
void check_all(std::size_t most = 1000) {
  for (const std::size_t operand_count : {1U, 2U, 3U, 5U})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, most})
      for (std::size_t alias = 0; alias <= operand_count; ++alias)
        check<T>(operand_count, count, alias);
}

TEST(UserOperator, is_applied_from_left_to_right) {
  check_all<Affine<1>>();
}
TEST(UserOperator, takes_elements_that_divide_no_block) {
  check_all<Affine<5>>();
}
TEST(UserOperator, takes_elements_larger_than_a_block) {
  check_all<Affine<1100>>(64);
}

TEST(UserOperator, writes_apart_or_over_a_whole_operand) {
  constexpr std::size_t kCount = 3000;
  const std::vector<int> ones(kCount, 1);
  std::vector<int> result(kCount);
  std::size_t calls = 0;
  const Operator op{[&](const void* left, const void* right, void* out, std::size_t count) {
                      const auto* a = static_cast<const int*>(left);
                      const auto* b = static_cast<const int*>(right);
                      auto* c = static_cast<int*>(out);
                      const bool over = c == a || c == b;
                      const bool apart =
                          (c + count <= a || a + count <= c) && (c + count <= b || b + count <= c);
                      EXPECT_TRUE(over || apart);
                      for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
                      ++calls;
                    },
                    true};
  const std::array<const void*, 4> operands{ones.data(), ones.data(), result.data(), ones.data()};
  make_host_memory()->fold({.type = Datatype::i32,
                            .op = &op,
                            .destination = result.data(),
                            .operands = operands,
                            .count = kCount});
  EXPECT_EQ(result, std::vector<int>(kCount, 3));
  EXPECT_GE(calls, 3U);
}

TEST(UserOperator, passes_the_users_exception_on) {
  const Operator op{[](const void*, const void*, void*, std::size_t) { throw 42; }, true};
  int x = 0;
  const std::array<const void*, 2> operands{&x, &x};
  EXPECT_THROW(
      make_host_memory()->fold(
          {.type = Datatype::i32, .op = &op, .destination = &x, .operands = operands, .count = 1}),
      int);
}

TEST(Fold, copies_the_only_operand_where_there_is_no_operator) {
  const std::string text = "any bytes will do";
  std::string copy(text.size(), '?');
  const std::array<const void*, 1> operands{text.data()};
  const auto memory = make_host_memory();
  memory->fold({.type = Datatype::opaque,
                .element_bytes = 1,
                .destination = copy.data(),
                .operands = operands,
                .count = text.size()});
  EXPECT_EQ(copy, text);
  memory->fold({.type = Datatype::opaque,
                .element_bytes = 17,
                .destination = nullptr,
                .operands = operands,
                .count = 0});
}

TEST(Fold, refuses_what_makes_no_sense) {
  const auto memory = make_host_memory();
  int x = 5;
  const std::array<const void*, 2> two{&x, &x};
  const Operator user{[](const void*, const void*, void*, std::size_t) {}, true};
  EXPECT_THROW(memory->fold({.type = Datatype::i32, .op = &sum, .destination = &x, .count = 1}),
               Error);
  EXPECT_THROW(
      memory->fold({.type = Datatype::i32, .destination = &x, .operands = two, .count = 1}), Error);
  EXPECT_THROW(memory->fold({.type = Datatype::i32,
                             .op = &sum,
                             .destination = &x,
                             .operands = two,
                             .count = 1,
                             .divisor = 0}),
               Error);
  EXPECT_THROW(memory->fold({.type = Datatype::i32,
                             .op = &user,
                             .destination = &x,
                             .operands = two,
                             .count = 1,
                             .divisor = 2}),
               Error);
  EXPECT_EQ(x, 5);
}

TEST(HostMemory, aligns_to_a_cache_line_and_copies) {
  const auto memory = make_host_memory();
  for (const std::size_t bytes : {1U, 63U, 64U, 100000U}) {
    std::byte* const from = memory->allocate(bytes);
    std::byte* const to = memory->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(from) % 64, 0U);
    std::memset(from, 0x5a, bytes);
    memory->copy(to, from, bytes);
    EXPECT_EQ(std::memcmp(to, from, bytes), 0);
    memory->deallocate(from, bytes);
    memory->deallocate(to, bytes);
  }
}

TEST(HostMemory, copies_past_the_caches_what_was_to_be_copied) {
  constexpr std::size_t kLong = (std::size_t{8} << 20) + 5;
  const auto memory = make_host_memory();
  std::vector<std::byte> from(kLong);
  for (std::size_t i = 0; i < kLong; ++i) from[i] = static_cast<std::byte>(i % 251);
  for (const std::size_t offset : {0U, 1U}) {
    std::vector<std::byte> to(kLong + 2, std::byte{0xee});
    memory->copy(to.data() + offset, from.data() + 1, kLong - 1);
    EXPECT_TRUE(std::equal(from.begin() + 1, from.end(), to.data() + offset)) << offset;
    EXPECT_EQ(to[kLong + offset - 1], std::byte{0xee}) << "one too many";
  }
}

// Linux lists what processor and kernel can do; the kernels' own query must agree.
TEST(HostMemory, finds_the_instruction_sets_that_the_system_lists) {
  std::ifstream file{"/proc/cpuinfo"};
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line) && flags.empty();) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words{line};
    for (std::string word; words >> word;) flags.insert(word);
  }
  const auto has_all = [&flags](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(),
                       [&flags](const char* name) { return flags.count(name) > 0; });
  };
  std::vector<host::InstructionSet> expected{host::InstructionSet::baseline};
  const bool avx2 = has_all({"avx2", "f16c"});
  if (avx2) expected.push_back(host::InstructionSet::avx2);
  if (avx2 && has_all({"avx512f", "avx512bw", "avx512dq", "avx512vl"}))
    expected.push_back(host::InstructionSet::avx512);
  EXPECT_TRUE(std::ranges::equal(host::supported_instruction_sets(), expected));
}

TEST(HostMemory, has_kernels_of_their_own_for_all_instruction_sets) {
  std::set<const host::KernelTable*> tables;
  for (const host::InstructionSet set : host::supported_instruction_sets())
    tables.insert(&host::kernels_of(set));
  EXPECT_EQ(tables.size(), host::supported_instruction_sets().size());
  EXPECT_TRUE(tables.contains(&host::kBaselineKernels));
}

TEST(HostMemory, says_which_instruction_set_is_missing) {
  const auto supported = host::supported_instruction_sets();
  ASSERT_EQ(supported.front(), host::InstructionSet::baseline);
  try {
    (void)host::make_host_memory(static_cast<host::InstructionSet>(77));
    ADD_FAILURE() << "an instruction set that no processor has was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find(host::name_of(supported.back())), std::string::npos);
  }
}

}  // namespace
}  // namespace tutti::test
