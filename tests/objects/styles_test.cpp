// Object calls that wait for their end, those that throw and those that do not.
#include <tutti/objects.hpp>
#include <tutti/testing.hpp>

#include "tests/objects/calls.hpp"

namespace tutti::harness {
namespace {

using samples::Text;

constexpr int kSize = 3;
constexpr Rank kRoot = 1;                             // not the default
constexpr int kTag = 3;                               // neither the default nor a rank
constexpr ObjectOptions kTooLittle{.most_bytes = 7};  // no text has so few

/// Makes calls on every rank.
template <class Body>
void on_all_ranks(const Body& body) {
  const auto errors = sim::run_ranks({.size = kSize, .scribble = true}, [&](Communicator& c) {
    SCOPED_TRACE("rank " + std::to_string(c.rank()));
    body(c, c.rank());
  });
  for (const auto& error : errors) EXPECT_FALSE(error) << error->what();
}

/// Makes a call in both styles, after one in each that is refused for an option that it has to pass
/// on.
template <class T, class Call>
void check(Communicator& c, const T& wanted, const Call& call) {
  const ObjectOptions none;
  try {
    static_cast<void>(call(objects(c), kTooLittle));
    ADD_FAILURE() << "the options of the call that throws are lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::object) << error.what();
  }
  EXPECT_EQ(call(objects(c), none), wanted);
  const auto refused = call(objects(c).try_(), kTooLittle);
  ASSERT_FALSE(refused) << "the options of the call that does not throw are lost";
  EXPECT_EQ(refused.error().code(), ErrorCode::object) << refused.error().what();
  EXPECT_EQ(call(objects(c).try_(), none).value(), wanted);
}

TEST(ObjectStyles, OfBroadcastAndScatter) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Text own = given(rank, 0, 1);
    check(c, given(kRoot, 0, 1),
          [&](auto&& style, auto& options) { return style.broadcast(own, kRoot, options); });
    const auto row = row_of(rank, kSize, 2);
    check(c, given(kRoot, rank, 2),
          [&](auto&& style, auto& options) { return style.scatter(row, kRoot, options); });
  });
}

TEST(ObjectStyles, OfGathersAndAllToAll) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Text own = given(rank, 0, 3);
    const auto all = column_of(0, kSize, 3);
    check(c, rank == kRoot ? all : std::vector<Text>{},
          [&](auto&& style, auto& options) { return style.gather(own, kRoot, options); });
    check(c, all, [&](auto&& style, auto& options) { return style.all_gather(own, options); });
    const auto row = row_of(rank, kSize, 4);
    check(c, column_of(rank, kSize, 4),
          [&](auto&& style, auto& options) { return style.all_to_all(row, options); });
  });
}

TEST(ObjectStyles, OfReductions) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Text own = given(rank, 0, 5);
    const Text whole = reduction(kSize, 5);
    check(c, rank == kRoot ? std::optional{whole} : std::nullopt,
          [&](auto&& style, auto& options) { return style.reduce(own, joined, kRoot, options); });
    check(c, whole,
          [&](auto&& style, auto& options) { return style.all_reduce(own, joined, options); });
  });
}

/// The styles of both ends differ, since two that swap arguments alike would understand each other.
TEST(ObjectStyles, OfMessages) {
  on_all_ranks([](Communicator& c, Rank rank) {
    if (rank == 1) {
      objects(c).send(given(1, 0, 1), 0, kTag);
      const auto sent = objects(c).try_().send(given(1, 0, 2), 0, kTag);
      EXPECT_TRUE(sent) << sent.error().what();
    } else if (rank == 0) {
      EXPECT_EQ(objects(c).try_().recv<Text>(1, kTag).value(), given(1, 0, 1));
      EXPECT_EQ(objects(c).recv<Text>(1, kTag), given(1, 0, 2));
    }
    const auto nobody = objects(c).try_().send(Text{}, kSize, kTag);
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.error().code(), ErrorCode::invalid_argument) << nobody.error().what();
    EXPECT_FALSE(objects(c).try_().recv<Text>(kSize, kTag));
  });
}

}  // namespace
}  // namespace tutti::harness
