// Arrays of bool: only two of the 256 bytes are values, so only operators that give these are for
// them.
#include <array>
#include <cstring>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using Bools = std::array<bool, 4>;

void expect_refused(const Result<void>& outcome) {
  ASSERT_FALSE(outcome);
  const std::string text = outcome.error().what();
  EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_argument) << text;
  for (const char* word : {"bool", "logical_and", "logical_or", "logical_xor"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

TEST(Bools, AreNotAddedOrMultiplied) {
  World world{1};
  Communicator& own = world[0];
  Bools in{true, true, false, true};
  Bools out{};
  std::array<bool, 1> block{};
  for (const Operator& op : {sum, prod, average}) {
    expect_refused(own.try_().all_reduce(in, out, op));
    expect_refused(own.try_().all_reduce(out, op));
    expect_refused(own.try_().reduce(in, out, op, 0));
    expect_refused(own.try_().reduce_scatter(block, block, op));
    expect_refused(
        detail::attempt([&] { static_cast<void>(own.async().all_reduce(in, out, op)); }));
    expect_refused(detail::attempt([&] { static_cast<void>(own.plan().all_reduce(in, out, op)); }));
    expect_refused(detail::attempt(
        [&] { static_cast<void>(own.explain(call::all_reduce(call::In<Bools&>{in}, out, op))); }));
    if (op.kind() == OperatorKind::average) continue;
    expect_refused(own.try_().scan(in, out, op));
    expect_refused(own.try_().exscan(in, out, op));
  }
  expect_refused(own.try_().all_reduce(out));  // sum, as nothing else is said
}

// Calls of one shape share its cached properties.
TEST(Bools, AreToldFromBytes) {
  World world{1};
  Bools bools{true, true};
  std::array<std::uint8_t, 4> bytes{1, 200};
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(world[0].try_().all_reduce(bytes));
    expect_refused(world[0].try_().all_reduce(bools));
    EXPECT_TRUE(world[0].try_().all_reduce(bools, max));
    EXPECT_TRUE(world[0].try_().all_reduce(bytes, max));
  }
}

/// An operator, and its result of two values.
struct Logic {
  Operator op;
  bool (*apply)(bool, bool);
};
TEST(Bools, AreReducedByLogic) {
  constexpr auto both = [](bool a, bool b) { return a && b; };
  constexpr auto any = [](bool a, bool b) { return a || b; };
  constexpr auto one = [](bool a, bool b) { return a != b; };
  const Operator own{[](const void* left, const void* right, void* out, std::size_t count) {
                       for (std::size_t i = 0; i < count; ++i)
                         static_cast<bool*>(out)[i] = static_cast<const bool*>(left)[i] ||
                                                      static_cast<const bool*>(right)[i];
                     },
                     true};
  for (const auto& [op, apply] :
       {Logic{min, both}, Logic{max, any}, Logic{logical_and, both}, Logic{logical_or, any},
        Logic{logical_xor, one}, Logic{bit_and, both}, Logic{bit_or, any}, Logic{bit_xor, one},
        Logic{own, any}}) {
    World world{3};
    std::array<std::array<bool, 8>, 3> data{};
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t rank = 0; rank < 3; ++rank) data[rank][i] = (i >> rank & 1) != 0;
    std::vector<Task> tasks;
    for (std::size_t rank = 0; rank < 3; ++rank)
      tasks.push_back(task_of(static_cast<Rank>(rank),
                              world[static_cast<Rank>(rank)].async().all_reduce(data[rank], op)));
    ASSERT_TRUE(world.drive(tasks));
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t rank = 0; rank < 3; ++rank) {
        std::uint8_t byte = 0;
        std::memcpy(&byte, &data[rank][i], 1);
        EXPECT_EQ(byte, apply(apply((i & 1) != 0, (i & 2) != 0), (i & 4) != 0) ? 1 : 0)
            << name_of(op.kind()) << " " << i;
      }
  }
}

}  // namespace
}  // namespace tutti::harness
