// Calls on streams: every row of the catalog, on streams that keep no message.
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "backends/sim/sim.hpp"
#include "rows.hpp"
#include "threaded_streams.hpp"

namespace tutti::harness {
namespace {

const Stream kStream{nullptr};

/// All ranks of a communicator that has streams, a thread for each.
class StreamWorld {
 public:
  explicit StreamWorld(int size) : cluster_{{.size = size}} {
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.push_back(make_communicator(cluster_.transport(rank), make_host_memory()));
      attach_streams(ranks_.back(), hub_.transport(rank));
    }
  }
  Communicator& operator[](Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] StreamHub& hub() noexcept { return hub_; }
  /// @return the first error of each rank, or nothing.
  std::vector<std::string> run(const std::function<void(Rank)>& body) {
    std::vector<std::string> errors(ranks_.size());
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (const Error& error) {
          errors[static_cast<std::size_t>(rank)] = error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

 private:
  StreamHub hub_{};
  sim::Cluster cluster_;
  std::vector<Communicator> ranks_{};
};

class Streams : public ::testing::TestWithParam<Row> {};

TEST_P(Streams, GiveTheRightResults) {
  const int size = GetParam().size;
  StreamWorld world{size};
  std::vector<Experiment> experiments;
  for (const Case& one : cases_of(GetParam(), 2))
    if (one.model.op.kind() != OperatorKind::user) experiments.emplace_back(one);
  std::barrier together{size};
  const auto errors = world.run([&](Rank rank) {
    for (Experiment& experiment : experiments) {
      Options options = experiment.options();
      options.stream = kStream;
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

/// What a call throws.
template <class Body>
std::string refusal_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
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
              (void)world[0].async().all_reduce(data, sum, {.stream = kStream});
            }).find("returns at once"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              (void)world[0].plan().all_reduce(data, sum, {.stream = kStream});
            }).find("returns at once"),
            std::string::npos);
  EXPECT_NE(refusal_of([&] {
              world[0].recv(std::span{data}, any_rank, 0, {.stream = kStream});
            }).find("any_rank"),
            std::string::npos);
  EXPECT_NO_THROW(world[0].all_reduce(data, sum, {.stream = kStream}));
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
