// A fault of one rank is an error in time on the others, and never wrong data.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <tutti/spi/catalog.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using enum Collective;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTimeout = seconds{1};

/// Whether no rank can finish without hearing, directly or not, from every other.
bool needs_everybody(Collective collective) {
  return collective == all_reduce || collective == all_gather || collective == reduce_scatter ||
         collective == all_to_all || collective == barrier;
}

Case case_for(const Row& row) {
  return {.collective = row.collective,
          .algorithm = row.algorithm,
          .size = row.size,
          .counts = cut(240, blocks_of(row.collective, row.size)),
          .segment = row.ordinal % 2 == 0 ? 128 : Options::kWhole,
          .model = model_of(Datatype::i32, OperatorKind::sum)};
}

std::vector<Task> tasks_for(World& world, Experiment& experiment) {
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < world.size(); ++rank)
    tasks.push_back(task_of(world[rank], experiment));
  return tasks;
}

/// Survivors have the right result or an error; nothing was written beside, or is written later.
void expect_no_harm(World& world, Experiment& experiment, const std::vector<Task>& tasks) {
  std::vector<std::vector<std::byte>> results{};
  for (const Task& task : tasks) {
    const auto bytes = experiment.result(task.rank);
    results.emplace_back(bytes.begin(), bytes.end());
    const auto problem = task.done ? experiment.problem(task.rank) : experiment.damage(task.rank);
    EXPECT_FALSE(problem) << *problem;
  }
  while (world.cluster().advance()) {
  }
  for (std::size_t i = 0; i < tasks.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(results[i], experiment.result(tasks[i].rank)))
        << "rank " << tasks[i].rank << "'s result was written after its operation had ended";
}

/// The next call of a failed communicator throws the same.
void expect_failed_for_good(World& world, const Task& task) {
  ASSERT_TRUE(task.error) << "rank " << task.rank;
  for (int again = 0; again < 2; ++again) {
    const auto result = world[task.rank].try_().barrier();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), task.error->code());
    EXPECT_STREQ(result.error().what(), task.error->what());
  }
}

class Faults : public ::testing::TestWithParam<Row> {};

TEST_P(Faults, ADeadRankIsAnErrorWithinTheDeadline) {
  const Row& row = GetParam();
  for (const std::uint64_t transfers : {1u, 2u, 5u}) {
    for (const bool detect : {false, true}) {
      const Rank victim = static_cast<Rank>(transfers + row.ordinal) % row.size;
      World world{{.cluster = {.size = row.size,
                               .seed = row.ordinal + transfers,
                               .faults = {{.rank = victim,
                                           .kind = sim::Fault::Kind::death,
                                           .after_transfers = transfers}},
                               .detect_death = detect,
                               .scribble = true},
                   .communicator = {.timeout = kTimeout}}};
      Experiment experiment{case_for(row)};
      SCOPED_TRACE(experiment.what().describe() + ", victim " + std::to_string(victim));
      auto tasks = tasks_for(world, experiment);
      ASSERT_TRUE(world.drive(tasks, 2 * kTimeout)) << "a survivor waits forever";
      EXPECT_LE(world.cluster().now(), 2 * kTimeout);
      for (const Task& task : tasks) {
        if (!task.error || task.rank == victim) continue;
        EXPECT_NE(task.error->code(), ErrorCode::bug) << task.error->what();
        EXPECT_NE(task.error->code(), ErrorCode::mismatch) << task.error->what();
        if (task.error->code() == ErrorCode::peer_dead) {
          EXPECT_TRUE(detect);
          EXPECT_EQ(task.error->culprit(), victim);
        }
        expect_failed_for_good(world, task);
      }
      expect_no_harm(world, experiment, tasks);
    }
  }
}

TEST_P(Faults, ARankThatNeverCallsIsNamed) {
  const Row& row = GetParam();
  if (row.size == 1 || !needs_everybody(row.collective)) return;
  const Rank absent = row.size / 2;
  World world{{.cluster = {.size = row.size, .seed = row.ordinal, .scribble = true},
               .communicator = {.timeout = kTimeout}}};
  Experiment experiment{case_for(row)};
  auto tasks = tasks_for(world, experiment);
  tasks.erase(tasks.begin() + absent);
  ASSERT_TRUE(world.drive(tasks, 2 * kTimeout));
  int timeouts = 0;
  for (const Task& task : tasks) {
    ASSERT_TRUE(task.error) << "rank " << task.rank << " cannot have succeeded";
    const std::string text = task.error->what();
    EXPECT_TRUE(task.error->code() == ErrorCode::timeout ||
                task.error->code() == ErrorCode::aborted)
        << text;
    EXPECT_NE(text.find("timed out"), std::string::npos) << text;
    EXPECT_NE(text.find("round"), std::string::npos) << text;
    EXPECT_GE(task.error->culprit(), 0) << text;
    EXPECT_NE(text.find("rank " + std::to_string(task.error->culprit())), std::string::npos)
        << text;
    timeouts += task.error->code() == ErrorCode::timeout ? 1 : 0;
    expect_failed_for_good(world, task);
  }
  EXPECT_GE(timeouts, 1);
  expect_no_harm(world, experiment, tasks);
}

TEST_P(Faults, ADelayedRankOnlyCostsTime) {
  const Row& row = GetParam();
  for (const std::uint64_t transfers : {0u, 3u}) {
    const Rank slow = static_cast<Rank>(transfers + row.ordinal) % row.size;
    World world{{.cluster = {.size = row.size,
                             .seed = row.ordinal,
                             .faults = {{.rank = slow,
                                         .after_transfers = transfers,
                                         .length = milliseconds{700}}},
                             .scribble = true},
                 .communicator = {.timeout = kTimeout}}};
    Experiment experiment{case_for(row)};
    ASSERT_EQ(run(world, experiment), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Faults, ::testing::ValuesIn(rows_of({2, 4, 5})), name_of_row);

TEST(Deaths, ThatAreDetectedNameTheDead) {
  for (Rank victim = 0; victim < 4; ++victim) {
    World world{{.cluster = {.size = 4,
                             .faults = {{.rank = victim, .kind = sim::Fault::Kind::death}},
                             .detect_death = true}}};
    Experiment experiment{{.collective = all_reduce,
                           .algorithm = "ring",
                           .size = 4,
                           .counts = {64},
                           .model = model_of(Datatype::i32, OperatorKind::sum)}};
    world.cluster().advance_by(milliseconds{1});
    auto tasks = tasks_for(world, experiment);
    ASSERT_TRUE(world.drive(tasks));
    EXPECT_LT(world.cluster().now(), seconds{1}) << "nobody needs to wait for a deadline";
    for (const Task& task : tasks) {
      if (task.rank == victim) continue;
      ASSERT_TRUE(task.error);
      EXPECT_EQ(task.error->culprit(), victim) << task.error->what();
      EXPECT_NE(std::string{task.error->what()}.find("rank " + std::to_string(victim) + " is dead"),
                std::string::npos)
          << task.error->what();
    }
  }
}

TEST(Deadlines, MayBeGivenToOneCall) {
  World world{2};
  std::vector<int> data(3);
  std::vector<Task> tasks{};
  tasks.push_back(
      task_of(0, world[0].async().all_reduce(std::span{data}, sum, {.timeout = milliseconds{20}})));
  ASSERT_TRUE(world.drive(tasks, milliseconds{40}));
  ASSERT_TRUE(tasks[0].error);
  EXPECT_EQ(tasks[0].error->code(), ErrorCode::timeout);
  EXPECT_EQ(tasks[0].error->culprit(), 1);
}

TEST(Requests, DroppedWhilePendingFailTheCommunicator) {
  World world{3};
  std::vector<std::vector<int>> data(3, std::vector<int>(100));
  { const Request dropped = world[1].async().all_reduce(std::span{data[1]}); }
  const auto own = world[1].try_().all_reduce(std::span{data[1]});
  ASSERT_FALSE(own);
  EXPECT_NE(std::string{own.error().what()}.find("dropped"), std::string::npos)
      << own.error().what();
  std::vector<Task> tasks{};
  for (const Rank rank : {0, 2})
    tasks.push_back(task_of(
        rank, world[rank].async().all_reduce(std::span{data[static_cast<std::size_t>(rank)]})));
  ASSERT_TRUE(world.drive(tasks));
  for (const Task& task : tasks) {
    ASSERT_TRUE(task.error);
    EXPECT_EQ(task.error->code(), ErrorCode::aborted);
    EXPECT_NE(std::string{task.error->what()}.find("dropped"), std::string::npos)
        << "the first cause is kept: " << task.error->what();
  }
}

TEST(Plans, DroppedWhilePendingFailTheCommunicator) {
  World world{2};
  std::vector<int> data(100);
  {
    Plan plan = world[0].plan().all_reduce(std::span{data});
    plan.start();
  }
  EXPECT_FALSE(world[0].try_().barrier());
  { const Plan idle = world[1].plan().all_reduce(std::span{data}); }
  std::vector<Task> tasks{};
  tasks.push_back(task_of(1, world[1].async().barrier()));
  ASSERT_TRUE(world.drive(tasks));
  EXPECT_TRUE(tasks[0].error) << "rank 1 hears of it";
}

/// @return rank 0's error in an all_reduce whose operator throws; the other ranks must report it
/// too.
std::string text_of_throwing(const UserFunction& function) {
  World world{3};
  const Operator throwing{function, true};
  std::vector<std::vector<int>> data(3, std::vector<int>(8, 1));
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < 3; ++rank)
    tasks.push_back(task_of(rank, world[rank].async().all_reduce(
                                      std::span{data[static_cast<std::size_t>(rank)]}, throwing)));
  EXPECT_TRUE(world.drive(tasks));
  for (const Task& task : tasks) {
    EXPECT_TRUE(task.error) << "rank " << task.rank;
    EXPECT_FALSE(world[task.rank].try_().barrier()) << "the communicator stays failed";
  }
  return tasks[0].error ? tasks[0].error->what() : "";
}

TEST(Operators, ThatThrowEndTheOperationOnAllRanks) {
  const std::string text = text_of_throwing([](const void*, const void*, void*, std::size_t) {
    throw std::runtime_error{"no such sum"};
  });
  EXPECT_NE(text.find("no such sum"), std::string::npos) << text;
}

TEST(Operators, MayThrowAnything) {
  const std::string text =
      text_of_throwing([](const void*, const void*, void*, std::size_t) { throw 7; });
  EXPECT_NE(text.find("exception"), std::string::npos) << text;
}

}  // namespace
}  // namespace tutti::harness
