// Waits that end after a time without failing anything, and what a rank waits for.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/objects.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/backends/shm/pair.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

/// Two ranks, each of which may wait in a thread of its own.
class TimedWaits : public ::testing::Test {
 protected:
  [[nodiscard]] Communicator& rank(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  /// Finds rank 0's operation pending until rank 1 makes its call, then done.
  template <class Operation, class Call>
  void expect_pending_until(Operation& operation, const Call& call_of_rank_1) {
    EXPECT_FALSE(operation.wait_for(Duration{0}));
    EXPECT_FALSE(operation.wait_for(5ms));
    std::thread other{call_of_rank_1};
    EXPECT_TRUE(operation.wait_for(Duration::max())) << "no limit, not a time that has passed";
    other.join();
  }

 private:
  shm::Host host_{2};
  std::vector<Communicator> ranks_ = [this] {
    std::vector<Communicator> ranks;
    for (const Rank rank : shm::kBoth)
      ranks.push_back(make_communicator(host_.transport(rank), make_host_memory()));
    return ranks;
  }();
};

TEST_F(TimedWaits, OfARequestFailNothing) {
  std::vector<int> sum{1, 2};
  Request request = rank(0).async().all_reduce(sum);
  expect_pending_until(request, [this] {
    std::vector<int> other{10, 20};
    rank(1).all_reduce(other);
  });
  EXPECT_EQ(sum, (std::vector{11, 22}));
  EXPECT_TRUE(request.wait_for(Duration{0})) << "it has ended";
}

TEST_F(TimedWaits, OfAPlanFailNothing) {
  int value = 1;
  Plan plan = rank(0).plan().all_reduce(std::span{&value, 1});
  EXPECT_TRUE(plan.wait_for(Duration{0})) << "it does not run";
  plan.start();
  expect_pending_until(plan, [this] {
    int other = 2;
    Plan same = rank(1).plan().all_reduce(std::span{&other, 1});
    same.start();
    same.wait();
  });
  EXPECT_EQ(value, 3);
}

TEST_F(TimedWaits, OfObjectsFailNothing) {
  ObjectCall call{.kind = ObjectCall::Kind::all_gather,
                  .name = "all_gather_objects",
                  .type = "bytes",
                  .bytes = Encoder{100}};
  call.bytes.begin_object();
  call.bytes.write("abc", 3);
  call.sizes = {3};
  ObjectExchange exchange = detail::ObjectAccess::start(rank(0), std::move(call));
  expect_pending_until(exchange, [this] {
    ObjectCall same{.kind = ObjectCall::Kind::all_gather,
                    .name = "all_gather_objects",
                    .type = "bytes",
                    .bytes = Encoder{100}};
    same.bytes.begin_object();
    same.sizes = {0};
    detail::ObjectAccess::start(rank(1), std::move(same)).wait();
  });
  EXPECT_EQ(exchange.count(), 2U);
  EXPECT_EQ(exchange.object(0).size(), 3U);
}

TEST_F(TimedWaits, ThrowTheErrorOfTheCommunicator) {
  std::vector<int> value{1};
  Request request = rank(0).async().all_reduce(value, sum, Options{.timeout = 1ms});
  EXPECT_THROW(static_cast<void>(request.wait_for(60s)), Error) << "its own deadline passes first";
}

TEST_F(TimedWaits, AreSeenByOtherThreads) {
  EXPECT_EQ(rank(0).waits(), "");
  std::thread waiting{[this] { rank(0).barrier(); }};
  std::string seen;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (seen.empty() && std::chrono::steady_clock::now() < deadline) seen = rank(0).waits();
  rank(1).barrier();
  waiting.join();
  EXPECT_EQ(seen.substr(0, seen.find(',')), "barrier #1 waits for rank 1");
  EXPECT_EQ(seen.back(), '\n');
  EXPECT_EQ(rank(0).waits(), "");
}

TEST_F(TimedWaits, AreNotSeenOnceTheyAreOver) {
  std::vector<int> value{1};
  Request request = rank(0).async().all_reduce(value);
  for (int wait = 0; wait < 8; ++wait) {  // the time passes at other looks at the clock
    EXPECT_FALSE(request.wait_for(5ms));
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    std::string seen;
    do seen = rank(0).waits();
    while (!seen.empty() && std::chrono::steady_clock::now() < deadline);
    ASSERT_EQ(seen, "") << "the program does something else";
  }
  expect_pending_until(request, [this] {
    std::vector<int> other{10};
    rank(1).all_reduce(other);
  });
  EXPECT_EQ(rank(0).waits(), "");
}

TEST_F(TimedWaits, AreNotSeenOnceAnotherCallHasEndedTheirs) {
  std::vector<int> value{1};
  Request request = rank(0).async().all_reduce(value);
  EXPECT_FALSE(request.wait_for(5ms));
  std::atomic<bool> is_done = false;
  std::thread other{[this, &is_done] {
    std::vector<int> others{10};
    rank(1).all_reduce(others);
    is_done = true;
  }};
  while (!is_done) static_cast<void>(rank(0).probe_now(1, 3));
  other.join();
  for (int poll = 0; poll < 100; ++poll) static_cast<void>(rank(0).probe_now(1, 3));
  request.wait();
  EXPECT_EQ(rank(0).waits(), "");
}

}  // namespace
}  // namespace tutti::harness
