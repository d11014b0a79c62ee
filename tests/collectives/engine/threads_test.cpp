// Different communicators run concurrently, also where they share a memory.
#include <thread>

#include <tutti/spi/memory.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using enum Collective;

TEST(Threads, EachMayHaveCommunicatorsOfItsOwn) {
  constexpr std::size_t kThreads = 4;
  const std::shared_ptr<Memory> memory = make_host_memory();
  const std::vector<Row> rows = rows_of({3, 4});
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads{};
  for (std::size_t index = 0; index < kThreads; ++index)
    threads.emplace_back([&, index] {
      for (const int size : {3, 4}) {
        World world{{.cluster = {.size = size, .seed = index}, .memory = memory}};
        for (const Row& row : rows) {
          if (row.size != size) continue;
          Experiment experiment{{.collective = row.collective,
                                 .algorithm = row.algorithm,
                                 .size = size,
                                 .counts = cut(144, blocks_of(row.collective, size)),
                                 .segment = 64,
                                 .model = model_at(row.collective, row.ordinal + index * 17),
                                 .salt = index}};
          if (problems[index].empty()) problems[index] = run(world, experiment);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

TEST(Threads, MayHandACommunicatorOver) {
  World world{2};
  Experiment experiment{{.collective = all_reduce,
                         .size = 2,
                         .counts = {100},
                         .model = model_of(Datatype::f64, OperatorKind::sum)}};
  EXPECT_EQ(run(world, experiment), "");
  std::string problem{"not run"};
  std::thread{[&] {
    Experiment again{experiment.what()};
    problem = run(world, again);
  }}.join();
  EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace tutti::harness
