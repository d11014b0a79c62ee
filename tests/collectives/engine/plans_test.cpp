// Plans are matched by the order in which they were made: ranks start them in any order.
#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/collectives/rows.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::harness {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kPlans = 12;

/// One after the other, of all collectives and of short and long vectors.
Experiment experiment_of(std::size_t number, int size) {
  const auto collective = static_cast<Collective>(number % kCollectives);
  const std::size_t blocks = blocks_of(collective, size);
  const std::size_t each = number % 3 == 0 ? 3 : number % 3 == 1 ? 700 : 30'000 / blocks;
  return Experiment{{.collective = collective,
                     .size = size,
                     .counts = std::vector<std::size_t>(blocks, each),
                     .root = static_cast<Rank>(number) % size,
                     .in_place = number % 2 == 0,
                     .segment = number % 4 == 0 ? std::size_t{8192} : std::size_t{0},
                     .model = model_at(collective, number),
                     .salt = number}};
}

std::vector<std::size_t> shuffled(sim::Random& random) {
  std::vector<std::size_t> order(kPlans);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = kPlans; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

TEST(Plans, StartInAnotherOrderOnEachRank) {
  for (const int size : {1, 2, 3, 5})
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      World world{size, seed};
      sim::Random random{seed};
      std::vector<Experiment> experiments;
      for (std::size_t number = 0; number < kPlans; ++number)
        experiments.push_back(experiment_of(number, size));
      std::vector<std::vector<std::shared_ptr<Plan>>> plans(static_cast<std::size_t>(size));
      for (Rank rank = 0; rank < size; ++rank)
        for (Experiment& experiment : experiments)
          plans[static_cast<std::size_t>(rank)].push_back(std::make_shared<Plan>(
              world[rank].plan().run(experiment.call(rank), experiment.options())));
      for (int round = 0; round < 3; ++round) {
        std::vector<std::vector<long>> sums(static_cast<std::size_t>(size),
                                            std::vector<long>(9, 1));
        std::vector<Task> tasks;
        for (Rank rank = 0; rank < size; ++rank) {
          const std::size_t calls_after = random.below(kPlans);
          for (const std::size_t number : shuffled(random)) {
            const auto& plan = plans[static_cast<std::size_t>(rank)][number];
            plan->start();
            tasks.push_back({.rank = rank, .test = [plan] { return plan->test(); }});
            if (number == calls_after)  // a call between the plans, now before, now behind one
              tasks.push_back(task_of(
                  rank, world[rank].async().all_reduce(sums[static_cast<std::size_t>(rank)])));
          }
        }
        expect_success(world, tasks);
        for (Rank rank = 0; rank < size; ++rank) {
          EXPECT_EQ(sums[static_cast<std::size_t>(rank)], std::vector<long>(9, size));
          for (Experiment& experiment : experiments) {
            EXPECT_EQ(experiment.problem(rank).value_or(""), "") << experiment.what().describe();
            experiment.restore(rank);
          }
        }
      }
    }
}

class PlanWorlds : public ::testing::TestWithParam<test::Setting> {};

/// Each rank starts and waits in an order of its own, and runs ahead of the others.
TEST_P(PlanWorlds, RunInAnyOrder) {
  const int n = GetParam().n;
  test::expect_no_error(test::in_world(GetParam(), [n](Communicator& world) {
    const Rank self = world.rank();
    std::vector<std::vector<long>> data(kPlans);
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < kPlans; ++i) {
      data[i].resize(i % 2 == 0 ? 10 : 50'000);
      plans.push_back(i % 3 == 2 ? world.plan().broadcast(data[i], static_cast<Rank>(i) % n)
                                 : world.plan().all_reduce(data[i]));
    }
    sim::Random random{static_cast<std::uint64_t>(self)};
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < kPlans; ++i)
        std::ranges::fill(data[i], self + static_cast<long>(i) + round);
      for (const std::size_t i : shuffled(random)) plans[i].start();
      for (const std::size_t i : shuffled(random)) plans[i].wait();
      for (std::size_t i = 0; i < kPlans; ++i) {
        const long each = static_cast<long>(i) + round;
        const long wanted =
            i % 3 == 2 ? static_cast<long>(i) % n + each : n * each + n * (n - 1) / 2;
        ASSERT_EQ(data[i], std::vector<long>(data[i].size(), wanted)) << "plan " << i;
      }
      if (round % 4 == 3) world.barrier();
    }
  }));
}

/// One rank has another operator: it is the one that is named.
TEST_P(PlanWorlds, ThatDifferNameTheRank) {
  const int n = GetParam().n;
  if (n < 3) return;
  for (const test::Outcome& outcome : test::in_world(GetParam(), [n](Communicator& world) {
         std::vector<long> data(100);
         Plan other = world.plan().barrier();
         Plan plan = world.plan().all_reduce(data, world.rank() == n - 1 ? max : sum);
         plan.start();
         plan.wait();
         other.start();
         other.wait();
         world.barrier();
       })) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->culprit(), n - 1) << outcome.text();
    EXPECT_NE(outcome.text().find("plan #2"), std::string::npos) << outcome.text();
  }
}

/// Nobody waits for a message of the other one, so that it is found when they start again.
TEST_P(PlanWorlds, WithDifferentRootsFail) {
  const int n = GetParam().n;
  int failed = 0;
  for (const test::Outcome& outcome : test::in_world(GetParam(), [n](Communicator& world) {
         std::vector<long> data(4);
         Plan plan = world.plan().broadcast(data, world.rank() == 0 ? 0 : n - 1);
         for (int run = 0; run < 3; ++run) {
           plan.start();
           plan.wait();
           world.barrier();
         }
       }))
    failed += outcome.text().find("plan #1") != std::string::npos ? 1 : 0;
  EXPECT_EQ(failed, n);
}

TEST_P(PlanWorlds, ThatARankDoesNotStartMissTheirDeadline) {
  const auto outcomes = test::in_world(GetParam(),
                                       [](Communicator& world) {
                                         std::vector<long> data(100);
                                         Plan plan = world.plan().all_reduce(data);
                                         if (world.rank() > 0) plan.start();
                                         if (world.rank() > 0) plan.wait();
                                         else world.all_reduce(data);
                                       },
                                       std::chrono::seconds{30}, std::size_t{1} << 30,
                                       {.timeout = milliseconds{500}});
  for (const test::Outcome& outcome : outcomes) EXPECT_NE(outcome.text(), "") << "no rank hangs";
}

INSTANTIATE_TEST_SUITE_P(Settings, PlanWorlds,
                         ::testing::Values(test::Setting{2, "shm", 1}, test::Setting{3, "shm", 1},
                                           test::Setting{4, "tcp", 4}, test::Setting{4, "auto", 2}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::harness
