// When CommunicatorOptions::progress is called, by a clock that the test moves.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/batch.hpp>

#include "rows.hpp"
#include "tests/support/one_processor.hpp"
#include "tests/support/wrapper.hpp"

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
  EXPECT_GE(calls, 900);  // of 10 ms
}

TEST_F(Progress, IsCalledEveryTwoMicroseconds) {
  World world = make_world(2);
  std::vector<int> values(3);
  Request request = world[0].async().all_reduce(std::span{values});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(request.test());
    world.cluster().advance_by(microseconds{1});
  }
  EXPECT_GE(calls, 490);
  EXPECT_LE(calls, 510);
}

// Whatever it takes, most of a wait is a look for what is awaited.
TEST_F(Progress, IsCalledLessOftenWhereItTakesLong) {
  World world = make_world(2);
  std::vector<int> values(3);
  Duration taken{0};
  hook = [&] {
    ++calls;
    world.cluster().advance_by(taken);
  };
  Request request = world[0].async().all_reduce(std::span{values});
  const auto calls_of = [&](Duration time) {
    taken = time;
    const int before = calls;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_FALSE(request.test());
      world.cluster().advance_by(microseconds{1});
    }
    return calls - before;
  };
  EXPECT_NEAR(calls_of(microseconds{8}), 125, 10);
  EXPECT_NEAR(calls_of(milliseconds{1}), 50, 5) << "every 20 us at least";
}

/// Counts what a thread that waits does. Its rank shares a core, so it yields soon.
class Crowded final : public Wrapper {
 public:
  static constexpr int kMostPolls = 20'000;

  Crowded(std::unique_ptr<Transport> inner, int& polls, int& waits_idle)
      : Wrapper{std::move(inner)}, capabilities_{Wrapper::capabilities()}, polls_{polls},
        waits_idle_{waits_idle} {
    capabilities_.idle_spins = 4;
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void poll() override {
    if (++polls_ > kMostPolls) throw Error{ErrorCode::transport, "this wait has no end"};
    Wrapper::poll();
  }
  void idle_wait() override { ++waits_idle_; }

 private:
  Capabilities capabilities_;
  int& polls_;
  int& waits_idle_;
};

// Nothing would wake a thread that sleeps when another library has something to do.
TEST_F(Progress, IsCalledAfterEachYieldAndNoThreadSleeps) {
  constexpr int kCalls = 2000;
  int polls = 0, waits_idle = 0;
  World world{{.cluster = {.size = 2},
               .communicator = {.progress = [this] { hook(); }},
               .wrap = [&](std::unique_ptr<Transport> inner) {
                 return std::make_unique<Crowded>(std::move(inner), polls, waits_idle);
               }}};
  hook = [this] {
    if (++calls == kCalls) throw std::runtime_error{"enough"};
  };
  EXPECT_THROW(world[0].barrier(), Error);  // of a rank that waits for another one
  EXPECT_EQ(calls, kCalls);
  EXPECT_LE(polls, kCalls + 10);
  EXPECT_EQ(waits_idle, 0);
}

/// Ends a wait as soon as its thread sleeps. Its rank has a core of its own.
class Uncrowded final : public Wrapper {
 public:
  static constexpr int kSpins = 1000;

  Uncrowded(std::unique_ptr<Transport> inner, int& polls)
      : Wrapper{std::move(inner)}, capabilities_{Wrapper::capabilities()}, polls_{polls} {
    capabilities_.idle_spins = kSpins;
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void poll() override {
    ++polls_;
    Wrapper::poll();
  }
  void idle_wait() override { throw Error{ErrorCode::transport, "asleep"}; }

 private:
  Capabilities capabilities_;
  int& polls_;
};

/// Polls of a wait before its thread sleeps, on one processor.
int polls_before_sleep() {
  int polls = 0;
  World world{{.cluster = {.size = 2}, .wrap = [&](std::unique_ptr<Transport> inner) {
                 return std::make_unique<Uncrowded>(std::move(inner), polls);
               }}};
  EXPECT_THROW(world[0].barrier(), Error);  // of a rank that waits for another one
  return polls;
}

// A thread that yields to another program comes back after its time slice, whatever has arrived.
TEST(IdleBackoff, SleepsSoonIfOthersUseTheCore) {
  const test::OneProcessor processor;
  std::atomic<bool> is_over = false;
  std::thread other{[&] {
    while (!is_over) {
    }
  }};
  // A third program, with short time slices, may hide the other one from some attempts.
  constexpr int kMost = Uncrowded::kSpins + 100;
  int polls = polls_before_sleep();
  for (int i = 0; i < 4 && polls >= kMost; ++i) polls = polls_before_sleep();
  is_over = true;
  other.join();
  EXPECT_GE(polls, Uncrowded::kSpins);
  EXPECT_LT(polls, kMost) << "it yields 200 times otherwise";
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
