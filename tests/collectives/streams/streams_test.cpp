// Calls on streams: every row of the catalog, on streams that keep no message.
#include <algorithm>
#include <array>
#include <barrier>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/batch.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/testing.hpp>

#include "tests/collectives/extreme_averages.hpp"
#include "tests/collectives/on_streams.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/support/each_rank.hpp"

namespace tutti::harness {
namespace {

/// All ranks of a communicator that has streams, a thread for each.
class StreamWorld {
 public:
  explicit StreamWorld(int size) : hub_{size}, cluster_{{.size = size}} {
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.push_back(make_communicator(cluster_.transport(rank), make_host_memory()));
      attach_streams(ranks_.back(), hub_.transport(rank));
    }
  }
  Communicator& operator[](Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] StreamHub& hub() noexcept { return hub_; }
  /// @return the first error of each rank, or nothing.
  std::vector<std::string> run(const std::function<void(Rank)>& body) {
    return errors_of_ranks(static_cast<int>(ranks_.size()), body);
  }

 private:
  StreamHub hub_;
  sim::Cluster cluster_;
  std::vector<Communicator> ranks_{};
};

class Streams : public ::testing::TestWithParam<Row> {};

/// Runs cases on streams. @param visible whether ranks see each other's memory.
void expect_right_results(const Row& row, const std::vector<Case>& cases, bool visible) {
  const int size = row.size;
  StreamWorld world{size};
  if (visible) world.hub().show_memory();
  std::vector<Experiment> experiments;
  for (const Case& one : cases)
    if (one.model.op.kind() != OperatorKind::user) experiments.emplace_back(one);
  std::barrier together{size};
  const auto errors = world.run([&](Rank rank) {
    for (Experiment& experiment : experiments) {
      Options options = experiment.options();
      options.stream = kStream;
      options.visible = visible;
      together.arrive_and_wait();
      try {
        world[rank].run(experiment.call(rank), options);
      } catch (...) {
        together.arrive_and_drop();
        throw;
      }
    }
  });
  for (const std::string& error : errors) ASSERT_EQ(error, "");
  for (Experiment& experiment : experiments)
    for (Rank rank = 0; rank < size; ++rank)
      if (const auto wrong = experiment.problem(rank))
        FAIL() << experiment.what().describe() << ": " << *wrong;
  EXPECT_EQ(world.hub().live(), 0);
  if (visible && size > 1 && row.collective != Collective::barrier) {
    EXPECT_GT(world.hub().announcements(), 0);
  }
}

TEST_P(Streams, GiveTheRightResults) {
  expect_right_results(GetParam(), cases_of(GetParam(), 2), false);
}

TEST_P(Streams, GiveTheRightResultsWherePeersSeeMemory) {
  expect_right_results(GetParam(), cases_of(GetParam(), 2), true);
}

TEST_P(Streams, AverageHalvesAsTheHostDoes) {
  const Row& row = GetParam();
  if (!is_reduction(row.collective) || is_prefix(row.collective)) return;
  const std::size_t blocks = blocks_of(row.collective, row.size);
  std::vector<Case> cases;
  for (const Model& model : {extreme_average<Float16>(), extreme_average<BFloat16>()})
    cases.push_back({.collective = row.collective,
                     .algorithm = row.algorithm,
                     .size = row.size,
                     .counts = std::vector<std::size_t>(blocks, 3000 / blocks / 5 * 5),
                     .model = model});
  for (const bool visible : {false, true}) expect_right_results(row, cases, visible);
}

INSTANTIATE_TEST_SUITE_P(Catalog, Streams, ::testing::ValuesIn(rows_of({1, 2, 3, 4, 5, 8})),
                         name_of_row);

TEST(StreamCalls, MoveMessagesBetweenTwoRanks) {
  StreamWorld world{2};
  std::vector<int> here(1000, 1), there(1000, 2), got(1000);
  const auto errors = world.run([&](Rank rank) {
    if (rank == 0) {
      world[0].send(std::span<const int>{here}, 1, 0, {.stream = kStream});
      world[0].recv(std::span{got}, 1, 0, {.stream = kStream});
    } else {
      std::vector<int> taken(1000);
      world[1].recv(std::span{taken}, 0, 0, {.stream = kStream});
      EXPECT_EQ(taken, here);
      world[1].send(std::span<const int>{there}, 0, 0, {.stream = kStream});
    }
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(got, there);
}

TEST(StreamCalls, NeedACommunicatorThatHasStreams) {
  sim::Cluster cluster{{.size = 1}};
  Communicator alone = make_communicator(cluster.transport(0), make_host_memory());
  std::vector<float> data(4);
  EXPECT_EQ(refusal_of([&] { alone.all_reduce(data, sum, {.stream = kStream}); }),
            "this communicator runs nothing on streams; attach a GPU to it by tutti::cuda::attach");
}

TEST(StreamCalls, AreChosenByWhatStreamsCost) {
  StreamWorld world{4};
  std::vector<float> data(1 << 20);
  const Call call = call::all_reduce(data, std::span{data}, sum);
  const std::string text = world[0].explain(call, {.segment = 4096, .stream = kStream});
  EXPECT_NE(text.find("assumed of threads"), std::string::npos) << text;
  EXPECT_EQ(text.find("segments of"), std::string::npos) << text;
  EXPECT_EQ(world[0].explain(call).find("assumed of threads"), std::string::npos);
}

TEST(StreamCalls, AreRefusedBeforeAnythingIsEnqueued) {
  StreamWorld world{1};
  std::vector<float> data(4);
  const Operator user{[](const void*, const void*, void*, std::size_t) {}, true};
  EXPECT_NE(refusal_of([&] {
              world[0].all_reduce(data, user, {.stream = kStream});
            }).find("a user's operator is a function of the host"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              world[0].recv(std::span{data}, any_rank, 0, {.stream = kStream});
            }).find("any_rank"),
            std::string::npos);
  EXPECT_NO_THROW(world[0].all_reduce(data, sum, {.stream = kStream}));
}

TEST(StreamCalls, GiveHandlesAndPlans) {
  StreamHub hub{3};
  on_streams(hub, [](Communicator& world) {
    std::vector<float> data(100, 1.0F), other(100, 2.0F);
    Request one = world.async().all_reduce(data, sum, {.stream = kStream});
    Request two = world.async().all_reduce(other, sum, {.stream = kStream});
    one.wait();
    EXPECT_TRUE(one.is_empty());
    while (!two.test()) {
    }
    EXPECT_EQ(data[99] + other[99], 9.0F);
    Plan plan = world.plan().all_reduce(data, sum, {.algorithm = "ring", .stream = kStream});
    EXPECT_EQ(plan.algorithm(), "ring");
    for (int i = 0; i < 3; ++i) plan.start();
    plan.wait();
    EXPECT_EQ(data[0], 81.0F);
    plan.start(other.data(), other.data());
    EXPECT_TRUE(plan.test());
    EXPECT_EQ(other[0], 18.0F);
    std::array<Request, 2> both{world.async().all_reduce(data, sum, {.stream = kStream}),
                                world.async().all_reduce(other, sum)};
    wait_all(both);
    EXPECT_EQ(data[5] + other[5], 243.0F + 54.0F);
  });
}

TEST(StreamCalls, MayStartTogether) {
  StreamHub hub{4};
  on_streams(hub, [](Communicator& world) {
    const Rank rank = world.rank();
    const Rank next = (rank + 1) % 4;
    const Rank before = (rank + 3) % 4;
    std::vector<int> mine(50, rank), theirs(50, -1), all(8, 1);
    // One after the other these would deadlock.
    batch([&] {
      world.send(std::span<const int>{mine}, next, 0, {.stream = kStream});
      world.recv(std::span{theirs}, before, 0, {.stream = kStream});
      world.all_reduce(all, sum, {.stream = kStream});
      Request dropped = world.async().all_reduce(all, sum, {.stream = kStream});
      EXPECT_THROW((void)dropped.test(), Error);
    });
    EXPECT_EQ(theirs, std::vector<int>(50, before));
    EXPECT_EQ(all, std::vector<int>(8, 16));  // the dropped one runs, too
  });
}

TEST(StreamCalls, RunOnAStreamOfTheCommunicatorsOwn) {
  StreamHub hub{2};
  std::vector<std::byte> device(4096);
  hub.put_on_device(device);
  on_streams(hub, [&](Communicator& world) {
    const Rank rank = world.rank();
    const std::span all{reinterpret_cast<float*>(device.data()) + 100 * rank, 100};
    std::ranges::fill(all, 1.0F);
    EXPECT_EQ(refusal_of([&] { world.all_reduce(all); }),
              "the input lies in memory of a GPU, which calls of the host cannot touch; give "
              "Options::stream, or Stream::own() if there is none");
    world.all_reduce(all, sum, {.stream = Stream::own()});
    world.async().all_reduce(all, sum, {.stream = Stream::own()}).wait();
    batch([&] { world.all_reduce(all, sum, {.stream = Stream::own()}); });
    EXPECT_EQ(all[99], 8.0F);
    std::vector<float> host(100, 1.0F);
    world.all_reduce(host);
    EXPECT_EQ(host[0], 2.0F);
  });
}

TEST(StreamCalls, TakeWhatTheLibraryHasOfItsOwn) {
  StreamHub hub{3};
  on_streams(hub, [](Communicator& world) {
    const Rank rank = world.rank();
    std::vector<std::uint8_t> data(100, static_cast<std::uint8_t>(rank));
    world.broadcast(data, 2, {.stream = kStream});
    EXPECT_EQ(data[99], 2);
    world.broadcast(data, 1, {.algorithm = "native", .stream = kStream});
    world.broadcast(data, 0, {.algorithm = "binomial", .stream = kStream});
    std::vector<float> other(100);
    world.broadcast(other, 2, {.stream = kStream});
    EXPECT_EQ(
        refusal_of([&] { world.broadcast(other, 2, {.algorithm = "native", .stream = kStream}); }),
        "the algorithm 'native' cannot serve: threads has no such call");
    const auto words = [&](const Call& call) { return world.explain(call, {.stream = kStream}); };
    EXPECT_NE(words(call::broadcast(std::span{data}, 0)).find("native, threads's own call"),
              std::string::npos);
    EXPECT_NE(words(call::broadcast(std::span{other}, 0))
                  .find("native cannot serve: threads has no such call"),
              std::string::npos);
  });
  EXPECT_EQ(hub.native_calls(), 6);
}

TEST(StreamCalls, ReduceWhatLiesInMemoryOfPeers) {
  StreamHub hub{4};
  hub.show_memory();
  on_streams(hub, [](Communicator& world) {
    std::vector<float> data(10'000, 1.0F);
    for (const char* const algorithm : {"ring", "direct", "recursive_doubling"})
      world.all_reduce(data, sum, {.algorithm = algorithm, .visible = true, .stream = kStream});
    EXPECT_EQ(data, std::vector<float>(10'000, 64.0F));
  });
  EXPECT_GT(hub.folds_of_peers(), 0);
}

TEST(StreamCalls, AreForGroupsToo) {
  StreamHub hub{4};
  on_streams(hub, [](Communicator& world) {
    const Rank rank = world.rank();
    Communicator half = world.split(rank % 2, 0);
    std::vector<int> data(20, rank);
    half.all_reduce(data, sum, {.stream = kStream});
    EXPECT_EQ(data, std::vector<int>(20, rank % 2 == 0 ? 2 : 4));
  });
}

TEST(StreamCalls, FailOnAllRanksWhereOneFails) {
  for (int exchanges = 0; exchanges < 6; ++exchanges) {
    StreamWorld world{3};
    world.hub().fail_after(exchanges);
    const auto errors = world.run([&](Rank rank) {
      std::vector<float> data(100, 1.0F);
      for (;;) world[rank].all_reduce(data, sum, {.algorithm = "ring", .stream = kStream});
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "the stream is broken");
    EXPECT_EQ(world.hub().live(), 0);
    std::vector<float> data(100);
    for (Rank rank = 0; rank < 3; ++rank)
      EXPECT_THROW(world[rank].all_reduce(data, sum, {.stream = kStream}), Error);
  }
}

}  // namespace
}  // namespace tutti::harness
