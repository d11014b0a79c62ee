// When CommunicatorOptions::progress is called, by a clock that the test moves.
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tutti/batch.hpp>

#include "collectives/engine/idle_backoff.hpp"
#include "tests/collectives/rows.hpp"
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

// Most of a wait polls for completion, however long the program's function takes.
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

// Another library's work would not wake a thread that sleeps.
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

/// Counts the sleeps of a thread whose rank has a core of its own.
class Uncrowded final : public Wrapper {
 public:
  static constexpr int kSpins = 1000;

  explicit Uncrowded(std::unique_ptr<Transport> inner)
      : Wrapper{std::move(inner)}, capabilities_{Wrapper::capabilities()} {
    capabilities_.idle_spins = kSpins;
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void idle_wait() override { ++sleeps; }
  void expect_idle_waits() override { is_warned = true; }

  int sleeps = 0;
  bool is_warned = false;  // that ranks may sleep

 private:
  Capabilities capabilities_;
};

using detail::CoreContention;
using detail::IdleBackoff;

/// Yields that take so long each, for so long, from an hour ahead on: what they show lasts.
void note_yields(CoreContention& contention, Duration each, Duration all) {
  const auto begin = CoreContention::Clock::now() + std::chrono::hours{1};
  for (Duration passed{0}; passed < all; passed += each + microseconds{10})
    contention.note(begin + passed, begin + passed + each);
}

TEST(CoreContention, ShowsInYieldsThatAllTakeLong) {
  CoreContention contention;
  EXPECT_FALSE(contention.is_seen());
  note_yields(contention, microseconds{2}, milliseconds{100});
  EXPECT_FALSE(contention.is_seen()) << "nobody else wants the core";
  note_yields(contention, milliseconds{1}, milliseconds{15});
  EXPECT_FALSE(contention.is_seen()) << "the system may find another core";
  note_yields(contention, microseconds{2}, microseconds{2});
  note_yields(contention, milliseconds{1}, milliseconds{30});
  contention.expire();
  EXPECT_TRUE(contention.is_seen());
}

/// @return the polls without a completion until this number of pauses.
int polls_until(int pauses, Uncrowded& transport, CoreContention& contention,
                const IdleBackoff::Wait& wait) {
  IdleBackoff backoff;
  int polls = 0;
  for (; pauses > 0; ++polls) pauses -= backoff.advance(transport, contention, wait) ? 1 : 0;
  return polls;
}

// A thread that yields to another program comes back after its time slice, whatever has arrived. A
// thread that drives another library, as over an MPI, polled for as long after each yield.
TEST(IdleBackoff, PausesSoonIfOthersUseTheCore) {
  constexpr int kPauses = 20;
  constexpr int kFewPolls = 100;
  for (const bool drives : {false, true})
    for (const bool wakes : {false, true}) {
      sim::Cluster cluster{{.size = 1}};
      Uncrowded transport{cluster.transport(0)};
      CoreContention contention;
      note_yields(contention, milliseconds{1}, milliseconds{30});
      EXPECT_EQ(polls_until(kPauses, transport, contention, {.drives = drives, .wakes = wakes}),
                kFewPolls + kPauses);
      const bool may_sleep = wakes && !drives;
      EXPECT_EQ(transport.sleeps, may_sleep ? kPauses : 0) << "nothing else would wake it";
      EXPECT_EQ(transport.is_warned, may_sleep);
    }
}

TEST(IdleBackoff, PollsForLongIfNobodyElseUsesTheCore) {
  constexpr int kPauses = 3;  // too few to show that others use it after all
  for (const bool drives : {false, true}) {
    sim::Cluster cluster{{.size = 1}};
    Uncrowded transport{cluster.transport(0)};
    CoreContention contention;
    EXPECT_EQ(polls_until(kPauses, transport, contention, {.drives = drives}),
              drives ? kPauses * (Uncrowded::kSpins + 1) : Uncrowded::kSpins + kPauses);
    EXPECT_EQ(transport.sleeps, 0);
  }
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
