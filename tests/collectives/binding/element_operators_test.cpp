// Functions of two elements as operators: the standard library's, lambdas, and users' own types.
#include <array>
#include <cstdint>
#include <functional>

#include "tests/collectives/binding/typed_calls.hpp"

namespace tutti::harness {
namespace {

/// A line x -> slope * x + offset; one after the other is one, in an order that counts.
struct Line {
  std::uint32_t slope = 1;
  std::uint32_t offset = 0;
  friend bool operator==(const Line&, const Line&) = default;
};
Line after(const Line& first, const Line& second) {
  return {first.slope * second.slope, first.offset * second.slope + second.offset};
}
Line line_of(Rank rank) {
  return {static_cast<std::uint32_t>(rank) + 2, static_cast<std::uint32_t>(rank) * 5 + 1};
}

template <class T, class Function>
OperatorKind kind_of(Function function) {
  return ElementOperator<T>{function}.get().kind();
}

TEST(ElementOperators, OfTheStandardLibraryAreOurs) {
  EXPECT_EQ((kind_of<float>(std::plus<>{})), OperatorKind::sum);
  EXPECT_EQ((kind_of<std::int8_t>(std::plus<std::int8_t>{})), OperatorKind::sum);
  EXPECT_EQ((kind_of<BFloat16>(std::plus<>{})), OperatorKind::sum);
  EXPECT_EQ((kind_of<std::complex<double>>(std::multiplies<>{})), OperatorKind::prod);
  EXPECT_EQ((kind_of<int>(std::logical_and<>{})), OperatorKind::logical_and);
  EXPECT_EQ((kind_of<int>(std::logical_or<>{})), OperatorKind::logical_or);
  EXPECT_EQ((kind_of<unsigned>(std::bit_and<>{})), OperatorKind::bit_and);
  EXPECT_EQ((kind_of<unsigned>(std::bit_or<>{})), OperatorKind::bit_or);
  EXPECT_EQ((kind_of<unsigned>(std::bit_xor<>{})), OperatorKind::bit_xor);
  EXPECT_EQ((kind_of<float>(std::logical_or<>{})), OperatorKind::user) << "ours is for integers";
  EXPECT_EQ((kind_of<int>([](int a, int b) { return a + b; })), OperatorKind::user);
}

TEST(ElementOperators, ReduceInEveryStyle) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const auto larger = [](int a, int b) { return std::max(a, b); };
    check(c, blank(), maxima(kSize, 0, kCount), [&](auto& style, auto& out, auto& options) {
      return style.all_reduce(in, out, larger, options);
    });
    check(c, in, maxima(rank + 1, 0, kCount), [&](auto& style, auto& inout, auto& options) {
      return style.scan(inout, larger, options);
    });
  });
}

TEST(ElementOperators, KeepTheOrderOfRanks) {
  const Line all = after(after(line_of(0), line_of(1)), line_of(2));
  on_all_ranks([&](Communicator& c, Rank rank) {
    std::vector<Line> lines(kCount, line_of(rank));
    c.all_reduce(lines, after);
    EXPECT_EQ(lines, std::vector<Line>(kCount, all));
    const auto reduced = c.reduce(std::vector<Line>(kCount, line_of(rank)), &after, kRoot);
    EXPECT_EQ(reduced, std::vector<Line>(rank == kRoot ? kCount : 0, all));
    EXPECT_EQ(c.all_reduce(line_of(rank), after), all);
    const std::array<Line, 3> block{line_of(rank), line_of(rank), line_of(rank)};
    EXPECT_EQ(c.reduce_scatter(block, after), std::vector<Line>{all});
  });
}

TEST(ElementOperators, MayBeMadeOnce) {
  const Operator sums = elementwise<int>([](int a, int b) { return a + b; }, true);
  EXPECT_TRUE(sums.commutative());
  on_all_ranks([&](Communicator& c, Rank rank) { EXPECT_EQ(c.all_reduce(rank + 1, sums), 6); });
}

TEST(Values, MayBeOfArraysThatEndWithTheCall) {
  on_all_ranks([](Communicator& c, Rank rank) {
    EXPECT_EQ(c.all_gather(std::array{rank, 7}), (std::vector{0, 7, 1, 7, 2, 7}));
    EXPECT_EQ(c.all_gatherv(std::vector<int>(static_cast<std::size_t>(rank), rank)),
              (std::vector{1, 2, 2}));
    EXPECT_EQ(c.all_to_all(std::vector{rank, rank, rank}), (std::vector{0, 1, 2}));
    EXPECT_EQ(c.reduce_scatter(std::vector{1, 10, 100}, std::plus<>{}).at(0), rank == 0   ? 3
                                                                              : rank == 1 ? 30
                                                                                          : 300);
  });
}

}  // namespace
}  // namespace tutti::harness
