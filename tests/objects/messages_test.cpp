// Objects from one rank to another, on the simulated cluster.
#include <tutti/objects.hpp>

#include "tests/objects/calls.hpp"

namespace tutti::harness {
namespace {

using samples::kUnwritable;
using samples::Text;
using samples::text_of;
using std::chrono::seconds;

Task task_of_send(Rank rank, ObjectRequest<void> request) {
  const auto shared = std::make_shared<ObjectRequest<void>>(std::move(request));
  return {.rank = rank, .test = [shared] { return shared->test(); }};
}

/// Some small, some large, and all of a tag in their order, however ranks come to them.
TEST(ObjectMessages, ComeInTheirOrder) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    World world{3, seed};
    std::vector<Task> tasks;
    Results<Text> results(24);
    for (std::size_t i = 0; i < 12; ++i) {
      const int tag = static_cast<int>(i % 2);
      tasks.push_back(task_of_send(0, objects(world[0]).async().send(given(0, 1, i), 1, tag)));
      tasks.push_back(task_of_send(2, objects(world[2]).async().send(given(2, 1, i), 1, tag)));
      tasks.push_back(task_of(1, objects(world[1]).async().recv<Text>(2, tag), results[i]));
      tasks.push_back(task_of(1, objects(world[1]).async().recv<Text>(0, tag), results[12 + i]));
    }
    ASSERT_TRUE(world.drive(tasks, seconds{1}));
    for (const Task& task : tasks) ASSERT_TRUE(task.done) << task.error->what();
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_EQ(results[i], given(2, 1, i));
      EXPECT_EQ(results[12 + i], given(0, 1, i));
    }
  }
}

TEST(ObjectMessages, GoToTheirOwnRankToo) {
  World world{1};
  std::vector<Task> tasks;
  std::optional<Text> result;
  tasks.push_back(task_of_send(0, objects(world[0]).async().send(text_of(5000, 1), 0)));
  tasks.push_back(task_of(0, objects(world[0]).async().recv<Text>(0), result));
  ASSERT_TRUE(world.drive(tasks));
  EXPECT_EQ(result, text_of(5000, 1));
}

TEST(ObjectMessages, OfAnotherTypeAreAnErrorThatLeavesTheNextOneGood) {
  World world{2};
  for (const std::size_t bytes : {std::size_t{20}, std::size_t{5000}}) {
    std::vector<Task> tasks;
    std::optional<Point> wrong;
    std::optional<Text> right;
    for (int i = 0; i < 2; ++i)
      tasks.push_back(task_of_send(0, objects(world[0]).async().send(text_of(bytes, 1), 1)));
    tasks.push_back(task_of(1, objects(world[1]).async().recv<Point>(0), wrong));
    tasks.push_back(task_of(1, objects(world[1]).async().recv<Text>(0), right));
    ASSERT_TRUE(world.drive(tasks, seconds{1}));
    ASSERT_TRUE(tasks[2].error);
    EXPECT_EQ(tasks[2].error->code(), ErrorCode::object) << tasks[2].error->what();
    EXPECT_EQ(right, text_of(bytes, 1));
  }
}

TEST(ObjectMessages, ThatCannotBeEncodedAreAnErrorOnBothRanks) {
  World world{2};
  std::vector<Task> tasks;
  std::optional<Text> result;
  tasks.push_back(task_of_send(0, objects(world[0]).async().send(kUnwritable, 1)));
  tasks.push_back(task_of(1, objects(world[1]).async().recv<Text>(0), result));
  ASSERT_TRUE(world.drive(tasks, seconds{1}));
  for (const Task& task : tasks) {
    ASSERT_TRUE(task.error);
    EXPECT_EQ(task.error->code(), ErrorCode::object);
    EXPECT_EQ(task.error->culprit(), 0);
    EXPECT_NE(std::string{task.error->what()}.find("there is no ink"), std::string::npos);
  }
  expect_usable(world);
}

TEST(ObjectMessages, BeyondTheReceiversLimitFailTheCommunicator) {
  World world{2};
  std::vector<Task> tasks;
  std::optional<Text> result;
  tasks.push_back(task_of_send(0, objects(world[0]).async().send(text_of(5000, 1), 1)));
  tasks.push_back(
      task_of(1, objects(world[1]).async().recv<Text>(0, 0, {.most_bytes = 4999}), result));
  ASSERT_TRUE(world.drive(tasks, seconds{1}));
  ASSERT_TRUE(tasks[1].error);
  EXPECT_EQ(tasks[1].error->code(), ErrorCode::mismatch) << tasks[1].error->what();
}

TEST(ObjectMessages, ThatAreDroppedWhileTheyWaitFailTheCommunicator) {
  World world{2};
  auto first = objects(world[1]).async().recv<Text>(0);
  { const auto waits = objects(world[1]).async().recv<Text>(0); }
  EXPECT_THROW(first.test(), Error);
}

}  // namespace
}  // namespace tutti::harness
