// Object collectives on the simulated cluster: many at once, and to the byte. The matrix has all of
// them with all sizes.
#include <tutti/objects.hpp>

#include "tests/objects/calls.hpp"
#include "tests/support/counting.hpp"

namespace tutti::harness {
namespace {

using samples::Text;
using samples::text_of;
using std::chrono::seconds;

TEST_P(ObjectsOn, AreBroadcastFromEveryRoot) {
  World world{size(), 5};
  for (std::size_t call = 0; call < std::size(samples::kLengths); ++call) {
    const Rank root = static_cast<Rank>(call) % size();
    const auto results = call_all(world, [&](Rank rank) {
      return objects(world[rank])
          .async()
          .broadcast(rank == root ? given(root, 0, call) : Text{"none"}, root);
    });
    for (const auto& result : results) EXPECT_EQ(result, given(root, 0, call));
  }
}

TEST_P(ObjectsOn, OfFlatTypesAreTheirBytes) {
  World world{size(), 11};
  for (const auto& result : call_all(world, [&](Rank rank) {
         return objects(world[rank])
             .async()
             .all_reduce(Point{1.0 / (rank + 1), rank * 0.1}, [](Point a, Point b) {
               return Point{a.x + b.x, std::max(a.y, b.y)};
             });
       })) {
    double sum = 1.0;
    for (Rank rank = 1; rank < size(); ++rank) sum += 1.0 / (rank + 1);
    EXPECT_EQ(result, (Point{sum, (size() - 1) * 0.1})) << "from left to right, to the last bit";
  }
}

/// Ranks look at them in an order of their own, and other calls come between.
TEST_P(ObjectsOn, MayBeUnderWayTogether) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    World world{size(), seed};
    std::vector<Task> tasks;
    std::vector<std::unique_ptr<Results<std::vector<Text>>>> gathered;
    std::vector<std::unique_ptr<Results<Text>>> sent;
    std::vector<std::vector<std::int64_t>> sums(static_cast<std::size_t>(size()));
    for (std::size_t call = 0; call < 4; ++call) {
      gathered.push_back(start_all(world, tasks, [&](Rank rank) {
        return objects(world[rank]).async().all_gather(given(rank, 0, call * 3));
      }));
      sent.push_back(start_all(world, tasks, [&](Rank rank) {
        return objects(world[rank]).async().broadcast(given(rank, 0, call * 5), 0);
      }));
      if (call != 2) continue;
      for (Rank rank = 0; rank < size(); ++rank) {
        sums[static_cast<std::size_t>(rank)].assign(1000, rank);
        tasks.push_back(harness::task_of(
            rank, world[rank].async().all_reduce(sums[static_cast<std::size_t>(rank)])));
      }
    }
    ASSERT_TRUE(world.drive(tasks, seconds{1}));
    for (const Task& task : tasks) ASSERT_TRUE(task.done) << task.error->what();
    for (std::size_t call = 0; call < 4; ++call)
      for (std::size_t rank = 0; rank < sums.size(); ++rank) {
        EXPECT_EQ((*gathered[call])[rank], column_of(0, size(), call * 3));
        EXPECT_EQ((*sent[call])[rank], given(0, 0, call * 5));
        EXPECT_EQ(sums[rank][999], size() * (size() - 1) / 2);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ObjectsOn, ::testing::Values(1, 2, 3, 4, 7, 8));

/// A rank that waits for another call goes on with its objects, since others wait for those.
TEST(Objects, GoOnWhileTheirRankWaitsForSomethingElse) {
  World world{2, 3};
  std::optional<std::vector<Text>> first;
  std::optional<std::vector<Text>> second;
  std::vector<int> sums[2] = {{1}, {2}};
  auto one = objects(world[0]).async().all_gather(text_of(5000, 1));
  auto two = objects(world[1]).async().all_gather(text_of(300, 2));
  Request of_two = world[1].async().all_reduce(sums[1]);
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, std::move(one), first));
  tasks.push_back({.rank = 1, .test = [&] { return of_two.test(); }});
  EXPECT_FALSE(world.drive(tasks)) << "the second one lacks the first one's call";
  EXPECT_TRUE(tasks[0].done) << "which waited for the second one's objects";
  tasks.push_back(harness::task_of(0, world[0].async().all_reduce(sums[0])));
  tasks.push_back(task_of(1, std::move(two), second));
  ASSERT_TRUE(world.drive(tasks));
  EXPECT_EQ(first, second);
  EXPECT_EQ(sums[0], std::vector<int>{3});
}

class ObjectBytes : public ::testing::Test {
 protected:
  static constexpr int kSize = 8;
  static constexpr std::uint64_t kLarge = 100000;
  /// Frames and votes of a call on all ranks, at most; some frames go by way of other ranks.
  static constexpr std::uint64_t kOverhead = kSize * kSize * 2000;

  [[nodiscard]] static Text own(Rank rank) { return text_of(rank == 3 ? kLarge : 9, 1); }
  /// @return what a call makes all ranks send.
  template <class Start>
  std::uint64_t sent_by(Start start) {
    bytes_ = 0;
    call_all(world_, start);
    return bytes_;
  }

  std::atomic<std::uint64_t> bytes_ = 0;
  World world_{{.cluster = {.size = kSize, .visible = false},
                .wrap = [this](std::unique_ptr<Transport> inner) {
                  return std::make_unique<Counting>(std::move(inner), bytes_);
                }}};
};

TEST_F(ObjectBytes, HaveNoPaddingToTheLargest) {
  const std::uint64_t everywhere =
      sent_by([this](Rank rank) { return objects(world_[rank]).async().all_gather(own(rank)); });
  EXPECT_LE(everywhere, (kSize - 1) * kLarge + kOverhead) << "once to each of the others";
  const std::uint64_t small = sent_by(
      [this](Rank rank) { return objects(world_[rank]).async().all_gather(text_of(9, 1)); });
  EXPECT_EQ(everywhere - small, (kSize - 1) * kLarge) << "in the second round nothing else moves";
  const std::uint64_t at_root =
      sent_by([this](Rank rank) { return objects(world_[rank]).async().gather(own(rank)); });
  EXPECT_LE(at_root, kLarge + kOverhead);
  const std::uint64_t from_root = sent_by([this](Rank rank) {
    std::vector<Text> row(kSize, Text{});
    row[3] = own(3);
    return objects(world_[rank]).async().scatter(rank == 0 ? row : std::vector<Text>{});
  });
  EXPECT_LE(from_root, kLarge + kOverhead);
  const std::uint64_t pairs = sent_by([this](Rank rank) {
    std::vector<Text> row(kSize, Text{});
    if (rank == 5) row[3] = own(3);
    return objects(world_[rank]).async().all_to_all(row);
  });
  EXPECT_LE(pairs, kLarge + kOverhead);
}

TEST_F(ObjectBytes, OfABroadcastAreThoseOfTheObjectAndAWord) {
  const auto sent = [this](std::size_t bytes) {
    return sent_by([&](Rank rank) {
      return objects(world_[rank]).async().broadcast(rank == 2 ? text_of(bytes, 1) : Text{}, 2);
    });
  };
  const std::uint64_t small = sent(9);
  EXPECT_EQ(sent(30000) - small, (kSize - 1) * 30000U);
  EXPECT_EQ(sent(3 * kLarge) - small, (kSize - 1) * (3 * kLarge + 8)) << "by a chain";
}

/// @param ranks of a world. @param largest object that is to need no second round of all_gather.
void check_one_round(int ranks, std::size_t largest) {
  World world{{.cluster = {.size = ranks, .visible = false}}};
  const auto transfers_of = [&](std::size_t bytes) {
    const std::uint64_t before = world.cluster().transfers();
    call_all(world,
             [&](Rank rank) { return objects(world[rank]).async().all_gather(text_of(bytes, 1)); });
    return world.cluster().transfers() - before;
  };
  EXPECT_EQ(transfers_of(8), transfers_of(largest));
  EXPECT_GT(transfers_of(largest + 1), transfers_of(largest));
}

TEST(Objects, ThatAreSmallMoveInOneRound) {
  check_one_round(2, 1232);
  check_one_round(12, 1232);
  check_one_round(13, 208);
}

/// Calls that end as they begin look for unmatched messages, and see only that the first round is
/// over.
TEST(Objects, AreAwaitedInTheirSecondRoundBeforeItBegins) {
  World world{2};
  const Text wanted = text_of(5000, 1);
  std::vector<Task> tasks;
  Results<Text> results(2);
  tasks.push_back(task_of(0, objects(world[0]).async().broadcast(wanted), results[0]));
  auto late = objects(world[1]).async().broadcast(Text{});
  ASSERT_TRUE(world.drive(tasks)) << "all is on its way";
  for (int i = 0; i < 20; ++i)
    for (Rank rank : {0, 1}) world[rank].all_reduce(std::span<double>{});
  tasks.push_back(task_of(1, std::move(late), results[1]));
  ASSERT_TRUE(world.drive(tasks, std::chrono::seconds{1}));
  ASSERT_TRUE(results[1]) << tasks[1].error->what();
  EXPECT_EQ(results[1], wanted);
}

TEST(Objects, MayBeMoreThanGoOnAtATime) {
  World two{2};
  std::vector<ObjectRequest<std::vector<int>>> requests;
  for (int i = 0; i < 40; ++i) requests.push_back(objects(two[0]).async().all_gather(i));
  std::vector<Task> tasks;
  Results<std::vector<int>> results(80);
  for (std::size_t i = 0; i < 40; ++i)
    tasks.push_back(task_of(0, std::move(requests[i]), results[i]));
  for (std::size_t i = 0; i < 40; ++i)
    tasks.push_back(
        task_of(1, objects(two[1]).async().all_gather(static_cast<int>(i)), results[40 + i]));
  ASSERT_TRUE(two.drive(tasks));
  for (std::size_t i = 0; i < 80; ++i) EXPECT_EQ((*results[i])[0], static_cast<int>(i % 40));
}

TEST(Objects, MayBeDroppedBeforeTheyStart) {
  World world{2};
  std::vector<ObjectRequest<std::vector<Text>>> requests;
  for (int i = 0; i < 40; ++i)
    requests.push_back(objects(world[0]).async().all_gather(samples::text_of(5000, 1)));
  requests.clear();  // and the communicator ends with those that never started
  const auto failed = world[0].try_().barrier();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::aborted) << failed.error().what();
}

TEST(Objects, HaveCallsThatWaitAndCallsThatDoNotThrow) {
  World world{1};
  Communicator& alone = world[0];
  EXPECT_EQ(objects(alone).broadcast(5), 5);
  EXPECT_EQ(objects(alone).all_to_all(std::vector{7}), std::vector{7});
  EXPECT_EQ(objects(alone).try_().scatter(std::vector{7}).value(), 7);
  EXPECT_EQ(objects(alone).try_().reduce(3, std::plus<>{}).value(), 3);
  EXPECT_EQ(objects(alone).scatter(std::vector<bool>{true}), true);
  const auto failed = objects(alone).try_().all_gather(samples::kUnwritable);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::object);
  EXPECT_EQ(objects(alone).try_().scatter(std::vector{1, 2}).error().code(), ErrorCode::object);
  auto request = objects(alone).async().all_gather(1);
  EXPECT_EQ(request.try_wait().value(), std::vector{1});
  EXPECT_EQ(request.try_wait().error().code(), ErrorCode::invalid_argument) << "only once";
  EXPECT_TRUE(ObjectRequest<int>{}.test());
}

}  // namespace
}  // namespace tutti::harness
