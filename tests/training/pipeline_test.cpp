// Items keep their order and their bound, errors end a pipeline, and no thread waits without need.
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include <tutti/training/pipeline.hpp>

#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

using std::chrono::milliseconds;
using PipelineTestClock = std::chrono::steady_clock;

struct Package {
  std::uint64_t number = 0;
  std::string stamps{};
};

/// A stage that takes so long and needs no processor for it.
auto idle_stage(std::string name, Duration time) {
  const auto end = std::make_shared<PipelineTestClock::time_point>();
  return stage(
      std::move(name), [end, time](auto&) { *end = PipelineTestClock::now() + time; },
      [end](auto&) { return PipelineTestClock::now() >= *end; });
}

/// @return the texts of a call's exception and of those nested in it.
template <class Function>
std::string thrown_by(ErrorCode code, Function function) {
  std::string text = "nothing was thrown";
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    text = error.what();
    try {
      std::rethrow_if_nested(error);
    } catch (const std::exception& inner) {
      text += std::string{" | "} + inner.what();
    } catch (...) {
      text += " | strange";
    }
  }
  return text;
}

TEST(Pipelines, KeepOrderAndBound) {
  for (const std::size_t depth : {1U, 2U, 3U, 7U}) {
    std::atomic<int> in_flight{0}, most{0};
    std::vector<std::uint64_t> begun, left;
    Pipeline<Package> pipeline(
        {stage(
             "begin",
             [&](Package& package, std::uint64_t item) {
               most = std::max(most.load(), ++in_flight);
               package = {item, "a"};
               begun.push_back(item);
             },
             [](Package&) { return true; }),
         thread_stage("work",
                      [](Package& package) {
                        const auto times = package.number * 7 % 5;
                        std::this_thread::sleep_for(times * Duration{100'000});
                        package.stamps += "b";
                      }),
         idle_stage("rest", milliseconds{1}),
         thread_stage("end",
                      [&](Package& package, std::uint64_t item) {
                        EXPECT_EQ(package.number, item);
                        EXPECT_EQ(package.stamps, "ab");
                        left.push_back(item);
                        --in_flight;
                      })},
        {.depth = depth});
    const PipelineReport report = pipeline.run(40);
    std::vector<std::uint64_t> expected(40);
    std::iota(expected.begin(), expected.end(), 0U);
    EXPECT_EQ(begun, expected);
    EXPECT_EQ(left, expected);
    EXPECT_LE(static_cast<std::size_t>(most), depth);
    EXPECT_EQ(report.items, 40U);
    for (const StageReport& one : report.stages) EXPECT_EQ(one.items, 40U);
    EXPECT_GE(report.stages[2].busy, milliseconds{40});
    EXPECT_GE(report.stages[2].longest, milliseconds{1});
    EXPECT_LE(report.stages[2].busy, report.elapsed);
    EXPECT_NE(report.text().find("rest: 40 items, "), std::string::npos) << report.text();
  }
}

TEST(Pipelines, HoldBackTheSource) {
  std::uint64_t asked = 0, begun = 0;
  bool is_open = false;
  Pipeline<int> pipeline({stage(
                              "first", [&](int&) { ++begun; }, [](int&) { return true; }),
                          stage(
                              "door", [](int&) {}, [&](int&) { return is_open; })},
                         {.depth = 3});
  pipeline.start([&](int& slot, std::uint64_t item) {
    ++asked;
    slot = static_cast<int>(item);
    return item < 10;
  });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(pipeline.poll());
  EXPECT_EQ(begun, 3U);
  EXPECT_EQ(asked, 3U);
  EXPECT_EQ(pipeline.report().items, 0U);
  EXPECT_NE(
      thrown_by(ErrorCode::invalid_argument, [&] { pipeline.start(1); }).find("after 0 items"),
      std::string::npos);
  is_open = true;
  while (!pipeline.poll()) continue;
  EXPECT_EQ(asked, 11U);
  EXPECT_EQ(pipeline.report().items, 10U);
  EXPECT_TRUE(pipeline.poll());
  EXPECT_EQ(pipeline.run(4).items, 4U);  // once more
  EXPECT_EQ(pipeline.run(0).items, 0U);
}

TEST(Pipelines, RunWhatASourceBrings) {
  std::vector<int> left;
  Pipeline<int> pipeline({thread_stage("keep", [&](int& number) { left.push_back(number); })});
  std::vector<int> numbers{5, 1, 4, 2};
  pipeline.run([&, next = numbers.begin()](int& slot) mutable {
    if (next == numbers.end()) return false;
    slot = *next++;
    return true;
  });
  EXPECT_EQ(left, numbers);
}

/// The stage that throws, in a pipeline of all kinds of stages.
enum class Place { source, start, test, thread };

TEST(Pipelines, EndWithTheErrorOfAStage) {
  const std::vector<std::pair<Place, std::string>> expected{{Place::source, "the source"},
                                                            {Place::start, "stage 'begin'"},
                                                            {Place::test, "stage 'begin'"},
                                                            {Place::thread, "stage 'block'"}};
  for (const auto& [place, name] : expected) {
    std::atomic<int> working{0}, ended{0};
    const auto at = [place = place](Place here, std::uint64_t item) {
      if (here == place && item == 5) throw std::runtime_error{"disk is full"};
    };
    {
      Pipeline<int> pipeline(
          {idle_stage("idle", milliseconds{1}),
           stage(
               "begin", [&](int&, std::uint64_t i) { at(Place::start, i); },
               [&](int&, std::uint64_t i) {
                 at(Place::test, i);
                 return true;
               }),
           thread_stage("slow",
                        [&](int&) {
                          ++working;
                          std::this_thread::sleep_for(milliseconds{3});
                          ++ended;
                        }),
           thread_stage("block", [&](int&, std::uint64_t i) { at(Place::thread, i); })},
          {.depth = 4});
      const auto source = [&](int&, std::uint64_t item) {
        at(Place::source, item);
        return true;
      };
      const std::string text = thrown_by(ErrorCode::aborted, [&] { pipeline.run(source); });
      EXPECT_EQ(text, "Pipeline: " + name + " failed at item 5: disk is full | disk is full");
      EXPECT_EQ(working, ended);  // nothing goes on
      const int before = working;
      EXPECT_EQ(thrown_by(ErrorCode::aborted, [&] { (void)pipeline.poll(); }), text);
      EXPECT_EQ(thrown_by(ErrorCode::aborted, [&] { pipeline.run(3); }), text);
      EXPECT_EQ(working, before);
    }
  }
}

TEST(Pipelines, KeepTheCodeOfAnErrorAndNameStrangeOnes) {
  Pipeline<int> one({thread_stage("read", [](int&) {
    throw Error{ErrorCode::transport, "no such file", 3};
  })});
  EXPECT_EQ(thrown_by(ErrorCode::transport, [&] { one.run(1); }),
            "Pipeline: stage 'read' failed at item 0: no such file | no such file");
  Pipeline<int> other({stage(
      "odd", [](int&) { throw 1; }, [](int&) { return true; })});
  EXPECT_EQ(thrown_by(ErrorCode::aborted, [&] { other.run(1); }),
            "Pipeline: stage 'odd' failed at item 0: an exception without a text | strange");
}

TEST(Pipelines, WaitForThreadsWhereTheyAreGivenUp) {
  constexpr int kItems = 100;
  std::atomic<int> begun{0}, ended{0};
  {
    Pipeline<int> pipeline({thread_stage("slow", [&](int&) {
      ++begun;
      std::this_thread::sleep_for(milliseconds{20});
      ++ended;
    })});
    pipeline.start(kItems);
    while (begun == 0) EXPECT_FALSE(pipeline.poll());
  }
  EXPECT_EQ(begun, ended);
  EXPECT_LT(begun, kItems);
}

TEST(Pipelines, RefuseWhatMakesNoSense) {
  using Stages = std::vector<Stage<int>>;
  EXPECT_THROW(Pipeline<int>(Stages{}), Error);
  EXPECT_THROW((Pipeline<int>({thread_stage("a", [](int&) {})}, {.depth = 0})), Error);
}

/// How long an item takes with stages that take so long each.
double milliseconds_an_item(const std::vector<double>& times, std::size_t depth,
                            std::uint64_t items = 12) {
  std::vector<Stage<int>> stages;
  for (const double time : times)
    stages.push_back(idle_stage("idle", Duration{static_cast<std::int64_t>(time * 1e6)}));
  Pipeline<int> pipeline(stages, {.depth = depth});
  const PipelineReport report = pipeline.run(items);
  return std::chrono::duration<double, std::milli>(report.elapsed).count() /
         static_cast<double>(items);
}

TEST(Pipelines, TakeTheTimeOfTheSlowestStage) {
  EXPECT_TRUE(with_enough_time(milliseconds{10}, [](milliseconds stage) {
    const auto time = static_cast<double>(stage.count());
    const double one = milliseconds_an_item({time, time, time}, 1);
    const double three = milliseconds_an_item({time, time, time}, 3, 24);
    return three <= 0.6 * one && one >= 3 * time && three >= time;
  }));
}

TEST(Pipelines, DoNotBlockInPoll) {
  EXPECT_TRUE(with_enough_time(milliseconds{40}, [](milliseconds time) {
    const auto sleep = [time](int&) { std::this_thread::sleep_for(time); };
    Pipeline<int> pipeline(
        {thread_stage("a", sleep), idle_stage("b", time), thread_stage("c", sleep)}, {.depth = 3});
    const PipelineReport report = pipeline.run(4);
    return report.longest_poll < time / 4;
  }));
}

TEST(Pipelines, SuggestADepth) {
  const auto depth_of = [](const std::vector<std::vector<int>>& items) {
    std::vector<std::vector<Duration>> times;
    for (const std::vector<int>& item : items) {
      times.emplace_back();
      for (const int time : item) times.back().push_back(milliseconds{time});
    }
    return suggested_depth(times);
  };
  EXPECT_EQ(depth_of({}), 1U);
  EXPECT_EQ(depth_of({{10}}), 1U);
  EXPECT_EQ(depth_of({{0, 0}}), 1U);
  EXPECT_EQ(depth_of({{10, 10, 10}}), 3U);
  EXPECT_EQ(depth_of({{10, 2, 10}}), 3U);
  EXPECT_EQ(depth_of({{1, 50, 10}}), 2U);
  EXPECT_EQ(depth_of({{100, 1, 1}}), 1U);
  EXPECT_EQ(depth_of({{10, 10}, {10, 10}}), 2U);
  // Different slow stages even out over more items.
  EXPECT_GT(depth_of({{15, 5}, {15, 5}, {5, 15}, {5, 15}}), 2U);
  EXPECT_THROW(depth_of({{1, 2}, {1}}), Error);
}

TEST(Pipelines, SuggestWhatIsBestWhenMeasured) {
  for (const double ratio : {0.2, 0.5, 1.0, 2.0, 5.0}) {
    EXPECT_TRUE(with_enough_time(milliseconds{4}, [&](milliseconds stage) {
      const auto first = static_cast<double>(stage.count());
      const std::vector<double> times{first, first * ratio, first};
      std::vector<Stage<int>> stages;
      for (const double time : times)
        stages.push_back(idle_stage("idle", Duration{static_cast<std::int64_t>(time * 1e6)}));
      Pipeline<int> pipeline(stages, {.depth = 2});
      EXPECT_EQ(pipeline.suggested_depth(), 2U);  // nothing is known yet
      pipeline.run(12);
      const std::size_t depth = pipeline.suggested_depth();
      const double suggested = milliseconds_an_item(times, depth, 30);
      const double more = milliseconds_an_item(times, depth + 2, 30);
      const double fewer = depth == 1 ? 1e9 : milliseconds_an_item(times, depth - 1, 30);
      return depth >= 2 && suggested <= 1.15 * more && fewer >= 1.05 * suggested;
    })) << ratio;
  }
}

class PipelinesOfRanks : public testing::TestWithParam<Setting> {};

struct Batch {
  std::vector<double> values = std::vector<double>(1000);
};

TEST_P(PipelinesOfRanks, Communicate) {
  train(GetParam(), [](Communicator& world) {
    Communicator sums = world.duplicate(world.options(), 1),
                 means = world.duplicate(world.options(), 2);
    std::vector<double> seen;
    Pipeline<Batch> pipeline(
        {thread_stage("sample",
                      [&](Batch& batch, std::uint64_t item) {
                        std::ranges::fill(batch.values, static_cast<double>(item) + world.rank());
                      }),
         request_stage("sum", [&](Batch& batch) { return sums.async().all_reduce(batch.values); }),
         request_stage(
             "mean", [&](Batch& batch) { return means.async().all_reduce(batch.values, average); }),
         thread_stage("train", [&](Batch& batch) { seen.push_back(batch.values.back()); })},
        {.depth = 4});
    pipeline.run(30);
    const double n = world.size();
    for (std::size_t item = 0; item < 30; ++item)
      EXPECT_EQ(seen.at(item), n * static_cast<double>(item) + n * (n - 1) / 2);
    world.barrier();
  });
}

TEST_P(PipelinesOfRanks, DropWhatOthersDoNotTakePartIn) {
  if (GetParam().n == 1) return;
  train(GetParam(), [](Communicator& world) {
    Communicator other = world.duplicate(world.options(), 3);
    if (world.rank() == 0) {
      Pipeline<Batch> pipeline({request_stage(
          "sum", [&](Batch& batch) { return other.async().all_reduce(batch.values); })});
      pipeline.start(2);
      EXPECT_FALSE(pipeline.poll());
    }
    if (world.rank() == 0) {
      EXPECT_THROW(other.barrier(), Error);
    }
    world.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, PipelinesOfRanks,
                         testing::Values(Setting{1, "auto", 1}, Setting{3, "auto", 1},
                                         Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
