// How many operations may be started while an older one is pending.
#include "rows.hpp"

namespace tutti::harness {
namespace {

/// Starts broadcasts of rank 0, which need nobody but a buffer on the way, and lets them end.
void broadcast_alone(World& world, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) {
    std::vector<int> data(4);
    Request request = world[0].broadcast_async(std::span{data});
    while (!request.test()) ASSERT_TRUE(world.cluster().advance());
  }
}

TEST(Windows, CountCallsAndNotRequests) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> waiting(4);
  Request first = world[0].broadcast_async(std::span{waiting}, 1);
  broadcast_alone(world, 63);
  std::vector<int> data(4);
  for (int again = 0; again < 2; ++again) {
    try {
      const Request request = world[0].broadcast_async(std::span{data});
      FAIL() << "operation #64 would use the tags of #0, which is pending";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      const std::string text = error.what();
      EXPECT_NE(text.find("operation #0"), std::string::npos) << text;
      EXPECT_EQ(text.find("later ones are under way"), std::string::npos) << text;
    }
  }
  // Nothing was harmed: once the first one has ended, the next one may start.
  std::vector<int> ours(4, 7);
  const Request theirs = world[1].broadcast_async(std::span{ours}, 1);
  while (!first.test()) ASSERT_TRUE(world.cluster().advance());
  EXPECT_EQ(waiting, ours);
  broadcast_alone(world, 200);
}

TEST(Windows, AreFreeAgainWhereTheOldestHasEnded) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> in(4, 7), out(4);
  for (int round = 0; round < 5; ++round) {
    Request pending = world[0].broadcast_async(std::span{out}, 1);
    broadcast_alone(world, 50);
    Request theirs = world[1].broadcast_async(std::span{in}, 1);
    for (int i = 0; i < 50; ++i) {
      std::vector<int> other(4);
      Request request = world[1].broadcast_async(std::span{other});
      while (!request.test()) static_cast<void>(world.cluster().advance());
    }
    while (!pending.test()) ASSERT_TRUE(world.cluster().advance());
    while (!theirs.test()) ASSERT_TRUE(world.cluster().advance());
  }
}

}  // namespace
}  // namespace tutti::harness
