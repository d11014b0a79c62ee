// When CommunicatorOptions::progress is called, by a clock that the test moves.
#include <stdexcept>
#include <string>

#include <tutti/batch.hpp>

#include "rows.hpp"

namespace tutti::harness {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class Progress : public testing::Test {
 protected:
  World make_world(int size) {
    return World{{.cluster = {.size = size}, .communicator = {.progress = [this] { hook(); }}}};
  }
  std::function<void()> hook = [this] { ++calls; };
  int calls = 0;
};

TEST_F(Progress, IsCalledAllTheTimeOfAWait) {
  World world = make_world(2);
  std::vector<int> values(3);
  Request request = world[0].async().all_reduce(std::span{values});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(request.test());
    world.cluster().advance_by(microseconds{10});
  }
  EXPECT_GE(calls, 200);  // of 10 ms
  EXPECT_LE(calls, 500);
}

TEST_F(Progress, IsCalledByTestsThatAreFarApart) {
  World world = make_world(2);
  std::vector<int> values(3);
  Request request = world[0].async().all_reduce(std::span{values});
  for (int i = 0; i < 10; ++i) {
    ASSERT_FALSE(request.test());
    world.cluster().advance_by(milliseconds{10});
  }
  EXPECT_GE(calls, 9);
}

TEST_F(Progress, IsNotCalledByCallsThatEndSoon) {
  World world = make_world(1);
  std::vector<int> values(3);
  for (int i = 0; i < 1000; ++i) {
    world[0].all_reduce(std::span{values});
    world.cluster().advance_by(microseconds{1});
  }
  EXPECT_LE(calls, 2);  // in 1 ms
}

TEST_F(Progress, IsCalledByManyCallsThatEndSoon) {
  World world = make_world(1);
  std::vector<int> values(3);
  for (int i = 0; i < 1000; ++i) {
    world[0].all_reduce(std::span{values});
    world.cluster().advance_by(microseconds{100});
  }
  EXPECT_GE(calls, 20);  // in 100 ms
}

TEST_F(Progress, FailsTheCommunicatorByWhatItThrows) {
  hook = [] { throw std::runtime_error{"the others have gone"}; };
  World world = make_world(2);
  std::vector<int> values(3);
  Request request = world[0].async().all_reduce(std::span{values});
  ASSERT_FALSE(request.test());
  world.cluster().advance_by(milliseconds{1});
  for (int again = 0; again < 2; ++again) {
    const Result<bool> result = request.try_test();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::aborted);
    EXPECT_EQ(result.error().what(),
              std::string{"an exception ended the operation on rank 0: the others have gone"});
  }
}

}  // namespace
}  // namespace tutti::harness
