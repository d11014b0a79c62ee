// Requests and plans as values: moved, assigned, started too often, and without exceptions.
#include <utility>

#include "rows.hpp"

namespace tutti::harness {
namespace {

using std::chrono::milliseconds;

TEST(Requests, AssignedOverReleaseWhatTheyHad) {
  World a{2, 1};
  World b{2, 2};
  std::vector<int> data(10), more(10);
  Request target = a[0].all_reduce_async(std::span{data});
  Request source = b[0].all_reduce_async(std::span{more});
  target = std::move(source);
  EXPECT_TRUE(source.test()) << "it is empty";
  EXPECT_FALSE(a[0].try_barrier()) << "its pending operation was dropped";
  EXPECT_FALSE(target.test()) << "it has the other's operation";
}

TEST(Requests, AssignedToThemselvesStay) {
  World world{2};
  std::vector<int> data(10);
  Request request = world[0].all_reduce_async(std::span{data});
  Request& same = request;
  request = std::move(same);
  EXPECT_FALSE(request.test());
}

TEST(Plans, AssignedOverReleaseWhatTheyHad) {
  World a{2, 1};
  World b{2, 2};
  std::vector<int> data(10), more(20);
  Plan target = a[0].plan_all_reduce(std::span{data});
  Plan source = b[0].plan_all_reduce(std::span{more});
  target.start();
  target = std::move(source);
  EXPECT_FALSE(a[0].try_barrier()) << "its pending run was dropped";
  target.start();
  EXPECT_FALSE(target.test());
}

TEST(Plans, ThatAreEmptyHaveNoRun) {
  World world{2};
  std::vector<int> data(10);
  Plan source = world[0].plan_all_reduce(std::span{data});
  const Plan target = std::move(source);
  EXPECT_TRUE(source.test());
  source.wait();
  try {
    source.start();
    FAIL() << "an empty plan was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

TEST(Handles, HaveTwinsThatDoNotThrow) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> data(10);
  const Call call = call::broadcast(std::span{data}, 0);
  Result<Request> request = world[0].try_start(call);
  Result<Plan> plan = world[0].try_plan(call);
  ASSERT_TRUE(request);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan.value().try_start());
  EXPECT_EQ(plan.value().try_start().error().code(), ErrorCode::invalid_argument);
  Result<bool> done = request.value().try_test();
  ASSERT_TRUE(done);
  EXPECT_FALSE(done.value());
  while (world.cluster().advance()) {
  }
  EXPECT_TRUE(request.value().try_wait());
  EXPECT_TRUE(plan.value().try_wait());
  EXPECT_TRUE(plan.value().try_test().value());
  EXPECT_EQ(plan.value().try_start(nullptr, nullptr).error().code(), ErrorCode::invalid_argument);
  const Call wrong = call::broadcast(std::span{data}, 2);
  EXPECT_EQ(world[0].try_start(wrong).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(world[0].try_plan(wrong).error().code(), ErrorCode::invalid_argument);
}

TEST(Handles, ReturnTheErrorInEveryCall) {
  World world{2};
  std::vector<int> data(10);
  Request request = world[0].all_reduce_async(std::span{data}, sum, {.timeout = milliseconds{20}});
  Plan plan = world[0].plan_all_reduce(std::span{data});
  EXPECT_TRUE(request.try_test());
  world.cluster().advance_by(milliseconds{30});
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(request.try_test().error().code(), ErrorCode::timeout);
    EXPECT_EQ(request.try_wait().error().code(), ErrorCode::timeout);
    EXPECT_EQ(plan.try_start().error().code(), ErrorCode::timeout);
  }
}

}  // namespace
}  // namespace tutti::harness
