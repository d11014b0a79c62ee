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

}  // namespace
}  // namespace tutti::harness
