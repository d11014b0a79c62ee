// Calls that a flag of their thread interrupts: interrupt_by.
#include <tutti/spi/interrupt.hpp>

#include <latch>

#include <tutti/gradient_sync.hpp>
#include <tutti/spi/init.hpp>

#include "runtime/launch/channel_local.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

/// Interrupts the calls of this thread once they have waited for a while.
class InterruptSoon {
 public:
  InterruptSoon() { interrupt_by(&flag_); }
  InterruptSoon(const InterruptSoon&) = delete;
  InterruptSoon& operator=(const InterruptSoon&) = delete;
  ~InterruptSoon() {
    interrupt_by(nullptr);
    thread_.join();
  }

 private:
  std::int32_t flag_ = 0;
  std::thread thread_{[this] {
    std::this_thread::sleep_for(milliseconds{30});
    __atomic_store_n(&flag_, 1, __ATOMIC_RELAXED);
  }};
};

/// Rank 1 waits for rank 0 in a call. All ranks report that rank 1 was interrupted.
void expect_interrupt(const Setting& setting, const std::function<void(Communicator&)>& call) {
  std::latch is_over{1};
  for (const Outcome& outcome : in_world(setting, [&](Communicator& world) {
         if (world.rank() == 1) {
           const InterruptSoon soon;
           const Result<void> result = detail::attempt([&] { call(world); });
           is_over.count_down();
           ASSERT_FALSE(result);
           EXPECT_EQ(result.error().code(), ErrorCode::aborted) << result.error().what();
           EXPECT_EQ(result.error().culprit(), 1);
           return;
         }
         is_over.wait();
         const Result<void> result = world.try_().barrier();
         ASSERT_FALSE(result);
         EXPECT_EQ(result.error().culprit(), 1) << result.error().what();
       }))
    EXPECT_FALSE(outcome.error) << outcome.text();
}

class Interrupts : public testing::TestWithParam<Setting> {};

TEST_P(Interrupts, EndACollective) {
  expect_interrupt(GetParam(), [](Communicator& world) {
    std::vector<int> values(10, 1);
    world.all_reduce(values);
  });
}

TEST_P(Interrupts, EndAMessage) {
  expect_interrupt(GetParam(), [](Communicator& world) {
    int value = 1;
    world.recv(std::span{&value, 1}, 0);
  });
}

TEST_P(Interrupts, EndASplit) {
  expect_interrupt(GetParam(), [](Communicator& world) { static_cast<void>(world.split(0)); });
}

TEST_P(Interrupts, EndTheStepOfAGradientSync) {
  std::latch is_over{1};
  for (const Outcome& outcome : in_world(GetParam(), [&](Communicator& world) {
         std::vector<float> gradient(10);
         const Parameter parameter{.name = "x", .data = gradient.data(), .count = gradient.size()};
         GradientSync sync{world, std::span{&parameter, 1}};
         if (world.rank() == 1) {
           const InterruptSoon soon;
           sync.ready(0);
           const Result<void> result = detail::attempt([&] { sync.wait(); });
           is_over.count_down();
           ASSERT_FALSE(result);
           EXPECT_EQ(result.error().code(), ErrorCode::aborted) << result.error().what();
           return;
         }
         is_over.wait();
         sync.ready(0);
         EXPECT_FALSE(detail::attempt([&] { sync.wait(); }));
       }))
    EXPECT_FALSE(outcome.error) << outcome.text();
}

INSTANTIATE_TEST_SUITE_P(Worlds, Interrupts,
                         testing::Values(Setting{2, "auto", 1}, Setting{2, "tcp", 1},
                                         Setting{2, "auto", 2}),
                         testing::PrintToStringParamName());

TEST(Interrupt, EndsInitOfRanksThatAreThreads) {
  const auto channels = runtime::local_channels(2);
  const InterruptSoon soon;
  try {
    static_cast<void>(init(*channels[0], {.timeout = kAmple}));
    FAIL() << "the other rank has not come";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
  }
}

}  // namespace
}  // namespace tutti::test
