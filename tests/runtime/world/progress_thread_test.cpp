// Operations that end while their program calls nothing.
#include <atomic>
#include <thread>

#include <tutti/objects.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using std::chrono::milliseconds;

/// Until all ranks have ended, or it takes too long, this rank calls nothing.
void await_all(std::atomic<int>& ended, int ranks) {
  ++ended;
  const auto deadline = in(kAmple);
  while (ended < ranks && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds{1});
  EXPECT_EQ(ended, ranks);
}

class ProgressThreads : public testing::TestWithParam<Setting> {
 protected:
  static void run(const std::function<void(Communicator&)>& body) {
    const auto outcomes = in_world(GetParam(), body, kAmple, std::size_t{1} << 30,
                                   {.timeout = kAmple, .progress_thread = true});
    for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.text();
  }
};

TEST_P(ProgressThreads, EndWhatRankZeroHasStarted) {
  for (const std::size_t count : {1U, 3'000U, 2'000'000U}) {
    std::atomic<int> ended{0};
    run([&](Communicator& world) {
      std::vector<int> data(count, world.rank() + 1);
      Request request = world.async().all_reduce(data);
      if (world.rank() != 0) request.wait();
      await_all(ended, world.size());
      request.wait();
      EXPECT_EQ(data.back(), world.size() * (world.size() + 1) / 2);
    });
  }
}

TEST_P(ProgressThreads, StartWhatWaitsForOlderCalls) {
  std::atomic<int> ended{0};
  run([&](Communicator& world) {
    std::vector<int> data(300, 1);
    std::vector<Request> requests;
    for (int& element : data) requests.push_back(world.async().all_reduce(std::span{&element, 1}));
    if (world.rank() != 0) wait_all(requests);
    await_all(ended, world.size());
    wait_all(requests);
    EXPECT_EQ(data, std::vector<int>(300, world.size()));
  });
}

TEST_P(ProgressThreads, StandBesideCallsOfEveryKind) {
  run([](Communicator& world) {
    Communicator other = world.split(0, -world.rank());
    const auto size = static_cast<std::size_t>(world.size());
    for (int i = 0; i < 200; ++i) {
      std::vector<int> first(100, i), second(10'000, 1);
      Request one = world.async().all_reduce(first);
      Request two = other.async().all_reduce(second);
      EXPECT_EQ(world.all_reduce(i), i * world.size());
      if (i % 10 == 0) {
        EXPECT_EQ(objects(other).all_gather(i), std::vector<int>(size, i));
      }
      if (i % 2 == 0) two.wait();
      one.wait();
      two.wait();
      EXPECT_EQ(first[7], i * world.size());
      EXPECT_EQ(second[7], world.size());
    }
  });
}

TEST_P(ProgressThreads, FindMissedDeadlines) {
  std::atomic<int> ended{0};
  run([&](Communicator& world) {
    std::vector<int> data(10);
    const Rank late = world.size() - 1;
    if (world.rank() == late) return await_all(ended, world.size());
    Request request = world.async().all_reduce(data, sum, {.timeout = milliseconds{200}});
    std::this_thread::sleep_for(milliseconds{600});
    const auto before = Clock::now();
    EXPECT_FALSE(request.try_wait()) << "it was found to be late while nobody called";
    EXPECT_LT(Clock::now() - before, kLongBefore);
    await_all(ended, world.size());
  });
}

// The thread's waits are over, and do not affect the next call.
TEST(ProgressThread, LeavesNobodyToBlameForWaitsThatAreOver) {
  std::atomic<int> told{0};
  std::atomic<bool> entered{false};  // rank 1, the second barrier
  const auto outcomes =
      in_world({3, "auto", 1},
               [&](Communicator& world) {
                 std::vector<int> data(10, 1);
                 if (world.rank() != 2) std::this_thread::sleep_for(milliseconds{50});
                 Request request = world.async().all_reduce(data);
                 if (world.rank() == 2) {  // its thread waits for the others, and ends the call
                   while (told < 2) std::this_thread::sleep_for(milliseconds{1});
                   return static_cast<void>(request.try_wait());
                 }
                 request.wait();
                 while (world.rank() == 0 && !entered) std::this_thread::sleep_for(milliseconds{1});
                 const Duration patience = world.rank() == 0 ? Duration{milliseconds{400}} : kAmple;
                 Request barrier = world.async().barrier({.timeout = patience});
                 entered = true;
                 const auto late = barrier.try_wait();
                 ++told;
                 ASSERT_FALSE(late);
                 EXPECT_EQ(late.error().culprit(), 2) << late.error().what();
                 EXPECT_NE(std::string{late.error().what()}.find("has not entered barrier #2"),
                           std::string::npos)
                     << late.error().what();
               },
               kAmple, std::size_t{1} << 30, {.timeout = kAmple, .progress_thread = true});
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.text();
}

INSTANTIATE_TEST_SUITE_P(Worlds, ProgressThreads,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                           Setting{3, "auto", 1}, Setting{3, "tcp", 1},
                                           Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
