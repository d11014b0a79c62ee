// Ranks that wait for long, in whatever way, call CommunicatorOptions::progress meanwhile.
#include <atomic>
#include <thread>

#include <tutti/batch.hpp>
#include <tutti/objects.hpp>
#include <tutti/spi/init.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

/// Calls that are enough to show that a wait calls the hook.
constexpr int kFew = 10;

/// How often the hook of rank 0 was called while it waited for rank 1, which comes when that was
/// often.
int calls_while(const Setting& setting, const std::function<void(Communicator&)>& wait) {
  std::atomic<int> calls{0};
  std::atomic<bool> counts{false};  // those of the wait, not those before
  const auto channels = local_channels(setting.n, true);
  expect_no_error(run_ranks(setting.n, [&](Rank rank) {
    InitOptions options{.transport = setting.transports};
    if (rank == 0) options.communicator.progress = [&calls] { ++calls; };
    Communicator world = init(*channels[static_cast<std::size_t>(rank)], options);
    world.barrier();
    if (rank == 0) {
      calls = 0;
      counts = true;
    }
    const auto are_enough = [&] { return counts && calls >= kFew; };
    for (const Deadline end = in(kAmple); rank == 1 && !are_enough() && Clock::now() < end;)
      std::this_thread::sleep_for(1ms);
    wait(world);
  }));
  return calls;
}

class ProgressHook : public testing::TestWithParam<Setting> {};

TEST_P(ProgressHook, IsCalledInEveryWait) {
  const Setting setting = GetParam();
  EXPECT_GE(calls_while(setting, [](Communicator& world) { world.barrier(); }), kFew);
  EXPECT_GE(calls_while(setting, [](Communicator& world) { world.split(0).barrier(); }), kFew);
  EXPECT_GE(calls_while(setting,
                        [](Communicator& world) {
                          EXPECT_EQ(objects(world).broadcast(world.rank(), 1), 1);
                        }),
            kFew);
  EXPECT_GE(calls_while(setting, [](Communicator& world) { batch([&] { world.barrier(); }); }),
            kFew);
  EXPECT_GE(calls_while(setting,
                        [](Communicator& world) {
                          Communicator part = world.split(0);
                          batch([&] {
                            world.barrier();
                            part.barrier();
                          });
                        }),
            kFew);
}

TEST_P(ProgressHook, IsInheritedByGroups) {
  EXPECT_GE(calls_while(GetParam(),
                        [](Communicator& world) {
                          if (world.rank() > 1) return;
                          Communicator pair = world.group({1, 0});
                          pair.barrier();
                        }),
            kFew);
}

// Two have a core each, five share what there is.
INSTANTIATE_TEST_SUITE_P(Worlds, ProgressHook,
                         testing::Values(Setting{2, "auto", 1}, Setting{2, "tcp", 1},
                                         Setting{5, "auto", 1}, Setting{5, "tcp", 1}),
                         [](const auto& test) {
                           return std::to_string(test.param.n) + "_ranks_" + test.param.transports;
                         });

}  // namespace
}  // namespace tutti::test
