// Requests and plans: several under way, many runs, several communicators, and the blocking calls.
#include <deque>
#include <memory>
#include <utility>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using enum Collective;

/// One operation on all ranks, started now in the order of ranks.
void start_all(World& world, Experiment& experiment, std::vector<Task>& tasks) {
  for (Rank rank = 0; rank < world.size(); ++rank)
    tasks.push_back(
        task_of(rank, world[rank].async().run(experiment.call(rank), experiment.options())));
}

void expect_right(Experiment& experiment) {
  for (Rank rank = 0; rank < experiment.what().size; ++rank) {
    const auto problem = experiment.problem(rank);
    EXPECT_FALSE(problem) << experiment.what().describe() << ": " << *problem;
  }
}

void expect_done(const std::vector<Task>& tasks) {
  for (const Task& task : tasks)
    EXPECT_TRUE(task.done) << "rank " << task.rank << ": "
                           << (task.error ? task.error->what() : "pending");
}

class Several : public ::testing::TestWithParam<Row> {};

TEST_P(Several, OperationsOfDifferentKindsMayBeUnderWay) {
  const Row& row = GetParam();
  World world{row.size, row.ordinal};
  std::deque<Experiment> experiments{};
  std::vector<Task> tasks{};
  for (std::size_t i = 0; i < 6; ++i) {
    const Collective others[] = {broadcast, all_reduce, all_gather};
    const bool own = i % 2 == 0;
    const Collective collective = own ? row.collective : others[i / 2];
    experiments.emplace_back(Case{.collective = collective,
                                  .algorithm = own ? row.algorithm : "",
                                  .size = row.size,
                                  .counts = cut(10 * i + 3, blocks_of(collective, row.size)),
                                  .root = static_cast<Rank>(i) % row.size,
                                  .segment = i == 2 ? 16 : Options::kWhole,
                                  .model = model_at(collective, row.ordinal + i),
                                  .salt = i});
    start_all(world, experiments.back(), tasks);
  }
  ASSERT_TRUE(world.drive(tasks));
  expect_done(tasks);
  for (Experiment& experiment : experiments) expect_right(experiment);
}

// In place, an all_to_all sends from a copy of its input, in memory that it borrows for each run.
TEST(InPlace, OperationsDoNotSendWhatAnotherHasCopied) {
  for (const Row& row : rows_of({3})) {
    if (row.collective != all_to_all) continue;
    World world{row.size, row.ordinal};
    const auto in_place = [&row](Datatype type, std::size_t salt) {
      return Case{.collective = all_to_all,
                  .algorithm = row.algorithm,
                  .size = row.size,
                  .counts = cut(90, 9),
                  .in_place = true,
                  .model = model_of(type, OperatorKind::sum),
                  .salt = salt};
    };
    Experiment first{in_place(Datatype::i32, 0)};
    Experiment second{in_place(Datatype::u32, 1)};  // another shape, which borrows as much
    std::vector<Task> tasks{};
    start_all(world, first, tasks);
    ASSERT_TRUE(world.drive(tasks));
    expect_right(first);
    tasks.clear();
    for (Rank rank = 0; rank < row.size; ++rank) first.restore(rank);
    start_all(world, second, tasks);
    start_all(world, first, tasks);
    ASSERT_TRUE(world.drive(tasks));
    expect_done(tasks);
    expect_right(first);
    expect_right(second);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Several, ::testing::ValuesIn(rows_of({1, 4, 5})), name_of_row);

class Plans : public ::testing::TestWithParam<Row> {};

TEST_P(Plans, RunAgainAndAgainOnChangingBuffers) {
  const Row& row = GetParam();
  World world{row.size, row.ordinal};
  std::deque<Experiment> experiments{};
  for (std::size_t salt = 0; salt < 5; ++salt)
    experiments.emplace_back(Case{.collective = row.collective,
                                  .algorithm = row.algorithm,
                                  .size = row.size,
                                  .counts = cut(41, blocks_of(row.collective, row.size)),
                                  .root = row.size / 2,
                                  .segment = 32,
                                  .model = model_of(Datatype::i16, OperatorKind::sum),
                                  .salt = salt});
  std::deque<Plan> plans{};
  for (Rank rank = 0; rank < row.size; ++rank)
    plans.push_back(world[rank].plan().run(experiments[0].call(rank), experiments[0].options()));
  for (std::size_t run = 0; run < experiments.size(); ++run) {
    std::vector<Task> tasks{};
    for (Rank rank = 0; rank < row.size; ++rank) {
      Plan& plan = plans[static_cast<std::size_t>(rank)];
      const Call call = experiments[run].call(rank);
      if (run == 0) plan.start();
      else plan.start(call.in, call.out);
      tasks.push_back({.rank = rank, .test = [&plan] { return plan.test(); }});
    }
    ASSERT_TRUE(world.drive(tasks)) << experiments[run].what().describe();
    expect_done(tasks);
    expect_right(experiments[run]);
  }
  const std::string ran = plans[0].algorithm();
  const std::string name = row.algorithm.substr(0, row.algorithm.find(':'));
  EXPECT_TRUE(name.empty() || ran.substr(0, ran.find(':')) == name) << ran;
}

INSTANTIATE_TEST_SUITE_P(Catalog, Plans, ::testing::ValuesIn(rows_of({1, 2, 5, 8})), name_of_row);

TEST(Plans, NameWhatTheyRun) {
  World world{2};
  std::vector<float> data(1000);
  const Plan plan =
      world[0].plan().broadcast(std::span{data}, 0, {.algorithm = "knomial:k=3", .segment = 256});
  EXPECT_EQ(plan.algorithm(), "knomial:k=3");
  EXPECT_EQ(plan.segment(), 256u);
  const Plan whole = world[0].plan().broadcast(std::span{data}, 0,
                                               {.algorithm = "chain", .segment = Options::kWhole});
  EXPECT_EQ(whole.segment(), 0u);
}

TEST(Plans, StartOnlyOneRunAtATime) {
  World world{2};
  std::vector<int> data(10);
  Plan plan = world[0].plan().all_reduce(std::span{data});
  EXPECT_TRUE(plan.test()) << "no run is pending";
  plan.start();
  try {
    plan.start();
    FAIL() << "a second run was started";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

TEST(Plans, CheckTheBuffersTheyStartOn) {
  World world{2};
  std::vector<int> in(10);
  std::vector<int> out(10);
  Plan plan = world[0].plan().all_reduce(std::span<const int>{in}, std::span{out});
  EXPECT_THROW(plan.start(nullptr, out.data()), Error);
  EXPECT_THROW(plan.start(in.data(), nullptr), Error);
  EXPECT_THROW(plan.start(in.data(), in.data() + 1), Error);
  EXPECT_EQ(world.cluster().transfers(), 0u);
}

TEST(Communicators, OfTheSameRanksDoNotDisturbEachOther) {
  World a{4, 1};
  World b{4, 2};
  Experiment first{{.collective = all_reduce,
                    .size = 4,
                    .counts = {99},
                    .model = model_of(Datatype::f32, OperatorKind::sum)}};
  Experiment second{
      {.collective = all_to_all, .size = 4, .counts = cut(160, 16), .model = opaque_model(5)}};
  std::vector<Task> on_a{};
  std::vector<Task> on_b{};
  start_all(a, first, on_a);
  start_all(b, second, on_b);
  ASSERT_TRUE(b.drive(on_b));
  ASSERT_TRUE(a.drive(on_a));
  expect_right(first);
  expect_right(second);
}

TEST(Communicators, KnowTheirPlace) {
  World world{3};
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(world[rank].rank(), rank);
    EXPECT_EQ(world[rank].size(), 3);
    EXPECT_EQ(transport_of(world[rank]).self(), rank);
  }
  Communicator moved = std::move(world[0]);
  EXPECT_EQ(moved.rank(), 0);
}

TEST(Communicators, MayGoBeforeTheirRequests) {
  sim::Cluster cluster{{.size = 1}};
  std::vector<int> data{1, 2, 3};
  Request request;
  EXPECT_TRUE(request.test()) << "no operation is done";
  {
    Communicator alone = make_communicator(cluster.transport(0), make_host_memory());
    request = alone.async().all_reduce(std::span{data});
  }
  for (int i = 0; i < 100 && !request.test(); ++i) cluster.advance();
  EXPECT_TRUE(request.test());
  EXPECT_EQ(data, (std::vector<int>{1, 2, 3}));
}

TEST(Barriers, HoldEverybodyUntilTheLastHasCome) {
  for (const Row& row : rows_of({2, 3, 5, 8})) {
    if (row.collective != barrier) continue;
    for (Rank late = 0; late < row.size; ++late) {
      World world{row.size, row.ordinal};
      std::vector<Task> tasks{};
      const auto enter = [&](Rank rank) {
        tasks.push_back(task_of(rank, world[rank].async().barrier({.algorithm = row.algorithm})));
      };
      for (Rank rank = 0; rank < row.size; ++rank)
        if (rank != late) enter(rank);
      EXPECT_FALSE(world.drive(tasks));
      for (const Task& task : tasks) EXPECT_FALSE(task.over()) << "rank " << task.rank << " left";
      enter(late);
      EXPECT_TRUE(world.drive(tasks));
      expect_done(tasks);
    }
  }
}

}  // namespace
}  // namespace tutti::harness
