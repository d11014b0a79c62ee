// Objects that are broadcast in segments, on the simulated cluster, where segments are lent or not
// as the seed decides.
#include "tests/objects/calls.hpp"
#include "tests/objects/streams.hpp"
#include "tests/support/turns.hpp"

namespace tutti::harness {
namespace {

using samples::Pieces;
using samples::pieces_of;

sim::ClusterOptions cluster_of(int size, std::uint64_t seed) {
  return {
      .size = size, .seed = seed, .scribble = true, .sinks = seed % 2 == 1, .loans = seed % 4 >= 2};
}

void on_all_ranks(int size, std::uint64_t seed, const std::function<void(Communicator&)>& body) {
  for (const std::string& error : run_in_turns(cluster_of(size, seed), body)) EXPECT_EQ(error, "");
}

class StreamedObjectsOn : public ::testing::TestWithParam<int> {};

TEST_P(StreamedObjectsOn, AreMovedAndRefused) {
  for (const std::uint64_t seed : {1U, 2U})  // without loans, and with them
    on_all_ranks(GetParam(), seed, test::run_stream_script);
}

INSTANTIATE_TEST_SUITE_P(Ranks, StreamedObjectsOn, ::testing::Values(1, 2, 3, 4, 7, 8));

TEST(StreamedObjects, OfAnySizesAndLoansArrive) {
  for (std::uint64_t seed = 2; seed < 200; seed += 4)
    on_all_ranks(3, seed, [&](Communicator& world) {
      const auto wanted = pieces_of(seed % 60 + 5, 1000 * (seed % 30 + 1), seed);
      EXPECT_EQ(world.broadcast_object(world.rank() == 1 ? wanted : Pieces{}, 1), wanted);
    });
}

TEST(StreamedObjects, AreEncodedBeforeTheCallReturns) {
  World world{2};
  const Pieces wanted = pieces_of(100, 10'000, 1);
  std::vector<Task> tasks;
  Results<Pieces> results(2);
  auto root = world[0].broadcast_object_async(wanted, 0);  // nobody else has called yet
  tasks.push_back(task_of(1, world[1].broadcast_object_async(Pieces{}, 0), results[1]));
  tasks.push_back(task_of(0, std::move(root), results[0]));
  ASSERT_TRUE(world.drive(tasks, std::chrono::seconds{1}));
  EXPECT_EQ(results[0]->encoded, 2) << "once to count, once to send";
  EXPECT_EQ(results[1], wanted);
}

TEST(StreamedObjects, ThatAreDroppedEndTheirCommunicatorEverywhere) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto errors = run_in_turns(cluster_of(3, seed), [](Communicator& world) {
      const Rank self = world.rank();
      if (self == 2) {
        const auto dropped = world.broadcast_object_async(Pieces{}, 0);
        return;
      }
      const auto own = self == 0 ? pieces_of(300, 10'000, 1) : Pieces{};
      static_cast<void>(world.broadcast_object(own, 0));
      world.barrier();
    });
    EXPECT_NE(errors[0], "");
    EXPECT_NE(errors[1], "");
  }
}

}  // namespace
}  // namespace tutti::harness
