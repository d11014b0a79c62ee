// How many operations may be started while an older one is pending.
#include <tutti/batch.hpp>
#include <tutti/objects.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

/// Starts broadcasts of rank 0, which need only a buffer on the way, and lets them end.
void broadcast_alone(World& world, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) {
    std::vector<int> data(4);
    Request request = world[0].async().broadcast(std::span{data});
    while (!request.test()) ASSERT_TRUE(world.cluster().advance());
  }
}

TEST(Windows, HaveLaterCallsWaitForTheOldest) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> waiting(4);
  Request first = world[0].async().broadcast(std::span{waiting}, 1);
  broadcast_alone(world, 63);
  std::vector<int> data(4);
  Request later = world[0].async().broadcast(std::span{data});
  while (world.cluster().advance()) EXPECT_FALSE(later.test()) << "it would use the tags of #1";
  std::vector<int> ours(4, 7);
  const Request theirs = world[1].async().broadcast(std::span{ours}, 1);
  while (!later.test()) ASSERT_TRUE(world.cluster().advance());
  while (!first.test()) ASSERT_TRUE(world.cluster().advance());
  EXPECT_EQ(waiting, ours);
  broadcast_alone(world, 200);
}

/// Runs rank by rank, in turns, until all requests are empty. Calls end in their order here.
void finish_all(World& world, std::vector<std::vector<Request>>& requests) {
  std::vector<std::size_t> ended(requests.size());
  for (bool is_over = false; !is_over;) {
    is_over = true;
    for (std::size_t rank = 0; rank < requests.size(); ++rank) {
      std::size_t& next = ended[rank];
      while (next < requests[rank].size() && requests[rank][next].test()) ++next;
      is_over = is_over && next == requests[rank].size();
    }
    if (is_over) return;
    ASSERT_TRUE(world.cluster().advance());
  }
}

TEST(Windows, HoldTenThousandCallsInTheirOrder) {
  constexpr std::size_t kCalls = 10'000;
  World world{{.cluster = {.size = 3, .seed = 5}}};
  std::vector<std::vector<int>> data(3, std::vector<int>(kCalls));
  std::vector<std::vector<Request>> requests(3);
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t i = 0; i < kCalls; ++i) {
      data[rank][i] = static_cast<int>(i * (rank + 1));
      Communicator& own = world[static_cast<Rank>(rank)];
      requests[rank].push_back(i % 3 == 0 ? own.async().barrier()
                                          : own.async().all_reduce(std::span{&data[rank][i], 1}));
    }
  finish_all(world, requests);
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t i = 0; i < kCalls; ++i)
      ASSERT_EQ(data[rank][i], static_cast<int>(i % 3 == 0 ? i * (rank + 1) : i * 6)) << i;
}

TEST(Windows, KeepTheOrderOfObjectsAmongCallsThatWait) {
  World world{{.cluster = {.size = 2, .seed = 3}}};
  std::vector<std::vector<int>> data(2, std::vector<int>(200));
  std::vector<std::vector<Request>> requests(2);
  std::vector<ObjectRequest<std::vector<int>>> gathered;
  for (Rank rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < 200; ++i) {
      const auto r = static_cast<std::size_t>(rank);
      data[r][i] = static_cast<int>(i);
      requests[r].push_back(world[rank].async().all_reduce(std::span{&data[r][i], 1}));
      if (i % 50 == 49) gathered.push_back(objects(world[rank]).async().all_gather(rank * 1000));
    }
  finish_all(world, requests);
  for (auto& request : gathered) {
    while (!request.test()) ASSERT_TRUE(world.cluster().advance());
    EXPECT_EQ(request.wait(), (std::vector<int>{0, 1000}));
  }
  for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(data[1][i], static_cast<int>(2 * i));
}

TEST(Windows, NameTheOldestCallWhereOneThatWaitsIsLate) {
  World world{{.cluster = {.size = 2}}};
  std::vector<int> data(70);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 70; ++i)
    requests.push_back(world[0].async().all_reduce(std::span{&data[i], 1}, sum,
                                                   {.timeout = std::chrono::milliseconds{10}}));
  std::vector<Task> tasks{};
  tasks.push_back(task_of(0, std::move(requests.back())));
  requests.pop_back();
  static_cast<void>(world.drive(tasks, std::chrono::milliseconds{30}));
  ASSERT_TRUE(tasks[0].error);
  EXPECT_EQ(tasks[0].error->code(), ErrorCode::timeout);
  const std::string why = tasks[0].error->what();
  EXPECT_NE(why.find("all_reduce #1 "), std::string::npos) << why;
}

TEST(Windows, AreFreeAgainWhereTheOldestHasEnded) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<int> in(4, 7), out(4);
  for (int round = 0; round < 5; ++round) {
    Request pending = world[0].async().broadcast(std::span{out}, 1);
    broadcast_alone(world, 50);
    Request theirs = world[1].async().broadcast(std::span{in}, 1);
    for (int i = 0; i < 50; ++i) {
      std::vector<int> other(4);
      Request request = world[1].async().broadcast(std::span{other});
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
      requests.push_back(world[0].async().broadcast(std::span{waiting}, 1));
      for (int i = 1; i < 64; ++i) requests.push_back(world[0].async().broadcast(std::span{data}));
    });
    std::vector<int> ours(4, 7 + round);
    std::vector<int> theirs(4);
    requests.push_back(world[1].async().broadcast(std::span{ours}, 1));
    for (int i = 1; i < 64; ++i) requests.push_back(world[1].async().broadcast(std::span{theirs}));
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
      return world[rank].async().broadcast(std::span{first[static_cast<std::size_t>(rank)]}, 2,
                                           {.algorithm = "chain"});
    };
    const auto advance = [&](Rank rank) {
      return world[rank].async().broadcast(std::span{later[static_cast<std::size_t>(rank)]}, 0);
    };
    const auto number = [&](std::size_t i) { return 1000 * round + static_cast<int>(i); };
    std::vector<Request> pending{};
    for (const Rank rank : {0, 1}) pending.push_back(begin(rank));
    for (std::size_t i = 0; i < kLater; ++i) {
      later[0].assign(4, number(i));
      std::vector<Request> requests{};
      for (const Rank rank : {0, 1}) requests.push_back(advance(rank));
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
      requests.push_back(advance(2));
      finish(std::move(requests));
      EXPECT_EQ(later[2], std::vector<int>(4, number(i)));
    }
  }
}

}  // namespace
}  // namespace tutti::harness
