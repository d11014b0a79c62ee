// Rejected objects: all ranks get the error, and the communicator stays usable.
#include <functional>

#include <tutti/batch.hpp>
#include <tutti/objects.hpp>

#include "tests/objects/calls.hpp"

namespace tutti::harness {
namespace {

using samples::kUnreadable;
using samples::kUnwritable;
using samples::Text;
using samples::text_of;
using std::chrono::seconds;

using RefusedObjectsOn = ObjectsOn;

TEST_P(RefusedObjectsOn, OfDifferentTypesAreAnErrorOnAllRanks) {
  World world{size(), 12};
  for (Rank odd = 0; odd < size() && size() > 1; ++odd) {
    std::vector<Task> tasks;
    Results<std::vector<Text>> texts(static_cast<std::size_t>(size()));
    std::optional<std::vector<Point>> points;
    for (Rank rank = 0; rank < size(); ++rank)
      if (rank == odd)
        tasks.push_back(task_of(rank, objects(world[rank]).async().gather(Point{}, 0), points));
      else
        tasks.push_back(task_of(rank, objects(world[rank]).async().gather(text_of(5000, 1), 0),
                                texts[static_cast<std::size_t>(rank)]));
    ASSERT_TRUE(world.drive(tasks, seconds{1}));
    for (const Task& task : tasks) {
      ASSERT_TRUE(task.error) << task.rank;
      EXPECT_EQ(task.error->code(), ErrorCode::object);
      EXPECT_STREQ(task.error->what(), tasks[0].error->what());
      const std::string what = task.error->what();
      EXPECT_NE(what.find("Text"), std::string::npos) << what;
      EXPECT_NE(what.find("Point"), std::string::npos) << what;
      if (size() > 2) {
        EXPECT_EQ(task.error->culprit(), odd) << what;
      }
    }
    expect_usable(world);
  }
}

TEST_P(RefusedObjectsOn, ThatCannotBeEncodedAreAnErrorOnAllRanks) {
  World world{size(), 13};
  for (Rank odd = 0; odd < size(); ++odd) {
    const auto own = [&](Rank rank) { return rank == odd ? kUnwritable : text_of(600, 1); };
    const auto row = [&](Rank rank) {
      return std::vector<Text>(static_cast<std::size_t>(size()), own(rank));
    };
    const std::function<Error()> failures[] = {
        [&] {
          return fail_all(world, [&](Rank rank) {
            return objects(world[rank]).async().broadcast(own(rank), odd);
          });
        },
        [&] {
          return fail_all(world, [&](Rank rank) {
            return objects(world[rank]).async().scatter(row(rank), odd);
          });
        },
        [&] {
          return fail_all(
              world, [&](Rank rank) { return objects(world[rank]).async().gather(own(rank)); });
        },
        [&] {
          return fail_all(
              world, [&](Rank rank) { return objects(world[rank]).async().all_gather(own(rank)); });
        },
        [&] {
          return fail_all(
              world, [&](Rank rank) { return objects(world[rank]).async().all_to_all(row(rank)); });
        },
        [&] {
          return fail_all(world, [&](Rank rank) {
            return objects(world[rank]).async().reduce(own(rank), joined, 0);
          });
        },
    };
    for (const auto& failure : failures) {
      const Error error = failure();
      const std::string what = error.what();
      EXPECT_EQ(error.culprit(), odd) << what;
      EXPECT_NE(what.find("there is no ink"), std::string::npos) << what;
      EXPECT_NE(what.find("Text"), std::string::npos) << what;
    }
    expect_usable(world);
  }
}

TEST_P(RefusedObjectsOn, ThatAreTooLargeForAnyRankAreAnErrorOnAllRanks) {
  World world{size(), 14};
  for (const std::size_t least : {std::size_t{100}, std::size_t{2000}}) {
    const Error error = fail_all(world, [&](Rank rank) {
      const bool is_last = rank == size() - 1;
      return objects(world[rank])
          .async()
          .all_gather(text_of(rank == 0 ? 3000 : 50, 1), {.most_bytes = is_last ? least : 100000});
    });
    const std::string what = error.what();
    EXPECT_NE(what.find("most_bytes"), std::string::npos) << what;
    EXPECT_EQ(error.culprit(), 0);
    expect_usable(world);
  }
}

TEST_P(RefusedObjectsOn, MustBeAsManyAsRanks) {
  World world{size(), 15};
  const Error error = fail_all(world, [&](Rank rank) {
    return objects(world[rank])
        .async()
        .scatter(std::vector<int>(static_cast<std::size_t>(size() + 1)), size() - 1);
    (void)rank;
  });
  EXPECT_NE(std::string{error.what()}.find("objects were given for"), std::string::npos);
  EXPECT_EQ(error.culprit(), size() - 1);
  expect_usable(world);
}

TEST_P(RefusedObjectsOn, ThatDoNotDecodeAreAnErrorWhereTheyCome) {
  World world{size(), 16};
  std::vector<Task> tasks;
  const auto results = start_all(world, tasks, [&](Rank rank) {
    return objects(world[rank]).async().gather(rank == size() - 1 ? kUnreadable : Text{"good"}, 0);
  });
  ASSERT_TRUE(world.drive(tasks, seconds{1}));
  for (Rank rank = 0; rank < size(); ++rank) {
    const Task& task = tasks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(task.error.has_value(), rank == 0);
    if (rank > 0) continue;
    EXPECT_EQ(task.error->code(), ErrorCode::object);
    EXPECT_EQ(task.error->culprit(), size() - 1);
    EXPECT_NE(std::string{task.error->what()}.find("there is no light"), std::string::npos);
  }
  expect_usable(world);
}

INSTANTIATE_TEST_SUITE_P(Ranks, RefusedObjectsOn, ::testing::Values(1, 2, 3, 4, 7, 8));

TEST(RefusedObjects, ThatCannotBeEncodedLeaveNoBytes) {
  ObjectCall call{.bytes = Encoder{8}};
  call.add(1.0);
  EXPECT_EQ(call.sizes, std::vector<std::size_t>{8});
  call.add(Point{});
  EXPECT_FALSE(call.problem.empty());
  EXPECT_EQ(call.bytes.size(), 8U);
  const std::string problem = call.problem;
  call.add(2.0);
  EXPECT_EQ(call.problem, problem) << "the first one counts";
}

TEST(RefusedObjects, ThatAreNoneNameTheirGiver) {
  for (Rank odd = 0; odd < 3; ++odd) {
    World world{3};
    using Frame = std::array<std::byte, 1280>;  // as long as what moves in place of objects
    const Frame own{};
    std::array<Frame, 3> all{};
    std::vector<Task> tasks;
    Results<std::vector<int>> results(3);
    for (Rank rank = 0; rank < 3; ++rank)
      if (rank == odd)
        tasks.push_back(
            harness::task_of(rank, world[rank].async().run({.collective = Collective::all_gather,
                                                            .in = &own,
                                                            .out = all.data(),
                                                            .in_count = 1,
                                                            .out_count = all.size(),
                                                            .type = Datatype::opaque,
                                                            .element_bytes = sizeof own})));
      else
        tasks.push_back(task_of(rank, objects(world[rank]).async().all_gather(7),
                                results[static_cast<std::size_t>(rank)]));
    ASSERT_TRUE(world.drive(tasks, seconds{1}));
    for (const Task& task : tasks) {
      if (task.rank == odd) continue;
      ASSERT_TRUE(task.error) << "rank " << task.rank << " believes rank " << odd;
      EXPECT_EQ(task.error->cause(), ErrorCode::mismatch) << task.error->what();
      // Without a majority to ask, the first of two ranks that differ blames the other one.
      EXPECT_NE(std::string{task.error->what()}.find("rank " + std::to_string(odd)),
                std::string::npos)
          << task.error->what();
    }
  }
}

TEST(RefusedObjects, ThatAreDroppedWhilePendingFailTheirCommunicator) {
  World world{3};
  { const auto dropped = objects(world[1]).async().all_gather(text_of(5000, 1)); }
  std::vector<Task> tasks;
  std::optional<std::vector<Text>> result;
  tasks.push_back(task_of(0, objects(world[0]).async().all_gather(text_of(5000, 1)), result));
  ASSERT_TRUE(world.drive(tasks, seconds{1}));
  ASSERT_TRUE(tasks[0].error);
  EXPECT_EQ(tasks[0].error->code(), ErrorCode::aborted) << tasks[0].error->what();
  EXPECT_THROW(static_cast<void>(objects(world[1]).async().all_gather(1)), Error);
}

TEST(RefusedObjects, MissADeadlineOfTheirOwn) {
  World world{2};
  std::vector<Task> tasks;
  std::optional<std::vector<int>> result;
  tasks.push_back(
      task_of(0, objects(world[0]).async().all_gather(1, {.timeout = std::chrono::milliseconds{5}}),
              result));
  ASSERT_TRUE(world.drive(tasks, seconds{1}));
  ASSERT_TRUE(tasks[0].error);
  EXPECT_EQ(tasks[0].error->code(), ErrorCode::timeout) << tasks[0].error->what();
}

TEST(RefusedObjects, AreNotOfABatch) {
  World world{2};
  const auto result =
      try_batch([&] { static_cast<void>(objects(world[0]).async().all_gather(text_of(20, 1))); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << result.error().what();
  expect_usable(world);
}

TEST(RefusedObjects, WithoutARootAreAnErrorAtOnce) {
  World world{2};
  try {
    static_cast<void>(objects(world[0]).async().gather(1, 2));
    FAIL() << "there is no rank 2";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
  expect_usable(world);
}

}  // namespace
}  // namespace tutti::harness
