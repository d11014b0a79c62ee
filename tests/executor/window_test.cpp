// How many operations may be started while an older one is pending.
#include <tutti/batch.hpp>

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
      FAIL() << "operation #65 would use the tags of #1, which is pending";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      const std::string text = error.what();
      EXPECT_NE(text.find("operation #1"), std::string::npos) << text;
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

TEST(Windows, MayBeFilledByOneBatch) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> waiting(4);
  std::vector<int> data(4);
  for (int round = 0; round < 2; ++round) {
    std::vector<Request> requests{};
    batch([&] {  // the first one keeps the window where it is
      requests.push_back(world[0].broadcast_async(std::span{waiting}, 1));
      for (int i = 1; i < 64; ++i) requests.push_back(world[0].broadcast_async(std::span{data}));
    });
    EXPECT_THROW((void)world[0].broadcast_async(std::span{data}), Error) << "one more than 64";
    std::vector<int> ours(4, 7 + round);
    std::vector<int> theirs(4);
    requests.push_back(world[1].broadcast_async(std::span{ours}, 1));
    for (int i = 1; i < 64; ++i) requests.push_back(world[1].broadcast_async(std::span{theirs}));
    for (Request& request : requests)
      while (!request.test()) ASSERT_TRUE(world.cluster().advance());
    EXPECT_EQ(waiting, ours);
  }
}

// A message of a later operation overtakes one of the first, which waits for a third rank; were
// their tags the same, it would be taken for it.
TEST(Windows, HaveTagsForAllTheirOperations) {
  constexpr std::size_t kLater = 63;
  World world{{.cluster = {.size = 3, .delivery = sim::Delivery::eager}}};
  const auto finish = [&](std::vector<Request> requests) {
    for (Request& request : requests)
      while (!request.test()) ASSERT_TRUE(world.cluster().advance());
  };
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<int>> first(3, std::vector<int>(4));
    std::vector<std::vector<int>> later(3, std::vector<int>(4));
    const auto begin = [&](Rank rank) {  // from rank 2 to rank 0 to rank 1
      return world[rank].broadcast_async(std::span{first[static_cast<std::size_t>(rank)]}, 2,
                                         {.algorithm = "chain"});
    };
    const auto go_on = [&](Rank rank) {
      return world[rank].broadcast_async(std::span{later[static_cast<std::size_t>(rank)]}, 0);
    };
    const auto number = [&](std::size_t i) { return 1000 * round + static_cast<int>(i); };
    std::vector<Request> pending{};
    for (const Rank rank : {0, 1}) pending.push_back(begin(rank));
    for (std::size_t i = 0; i < kLater; ++i) {
      later[0].assign(4, number(i));
      std::vector<Request> requests{};
      for (const Rank rank : {0, 1}) requests.push_back(go_on(rank));
      finish(std::move(requests));
      EXPECT_EQ(later[1], later[0]);
    }
    first[2].assign(4, -1 - round);
    pending.push_back(begin(2));
    finish(std::move(pending));
    EXPECT_EQ(first[0], first[2]);
    EXPECT_EQ(first[1], first[2]);
    for (std::size_t i = 0; i < kLater; ++i) {
      std::vector<Request> requests{};
      requests.push_back(go_on(2));
      finish(std::move(requests));
      EXPECT_EQ(later[2], std::vector<int>(4, number(i)));
    }
  }
}

}  // namespace
}  // namespace tutti::harness
