// Blocks of different sizes, most of which only those know that have or want them.
#include <vector>

#include "rows.hpp"

namespace tutti::harness {
namespace {

using Vector = std::vector<int>;
using Sizes = std::vector<std::size_t>;

int value(Rank from, Rank to, std::size_t index) {
  return (from + 1) * 1'000'000 + (to + 1) * 10'000 + static_cast<int>(index);
}

/// Who sends how many elements to whom, some of them none.
class Traffic {
 public:
  Traffic(int size, std::uint64_t seed) : size_{size} {
    sim::Random random{seed};
    for (int pair = 0; pair < size * size; ++pair)
      counts_.push_back(random.below(3) == 0 ? 0 : random.below(700));
  }
  [[nodiscard]] std::size_t count(Rank from, Rank to) const {
    return counts_[static_cast<std::size_t>(from * size_ + to)];
  }
  [[nodiscard]] Sizes sent(Rank from) const {
    Sizes counts;
    for (Rank to = 0; to < size_; ++to) counts.push_back(count(from, to));
    return counts;
  }
  [[nodiscard]] Sizes received(Rank to) const {
    Sizes counts;
    for (Rank from = 0; from < size_; ++from) counts.push_back(count(from, to));
    return counts;
  }
  [[nodiscard]] Vector block(Rank from, Rank to) const {
    Vector data;
    for (std::size_t i = 0; i < count(from, to); ++i) data.push_back(value(from, to, i));
    return data;
  }
  /// All that one rank sends, or gets, in the order of ranks.
  [[nodiscard]] Vector outgoing(Rank from) const {
    Vector all;
    for (Rank to = 0; to < size_; ++to) append(all, block(from, to));
    return all;
  }
  [[nodiscard]] Vector incoming(Rank to) const {
    Vector all;
    for (Rank from = 0; from < size_; ++from) append(all, block(from, to));
    return all;
  }

 private:
  static void append(Vector& all, const Vector& more) {
    all.insert(all.end(), more.begin(), more.end());
  }
  int size_;
  Sizes counts_{};
};

class OwnCounts : public ::testing::TestWithParam<int> {
 protected:
  /// Starts a call on every rank, and waits for all. @param start makes the rank's Request.
  template <class Start>
  void run(std::uint64_t seed, const Start& start) {
    World world{GetParam(), seed};
    std::vector<Task> tasks;
    for (Rank rank = 0; rank < GetParam(); ++rank)
      tasks.push_back(task_of(rank, start(world[rank], rank)));
    ASSERT_TRUE(world.drive(tasks));
    for (const Task& task : tasks) ASSERT_FALSE(task.error) << task.error->what();
  }
  [[nodiscard]] std::vector<Vector> buffers(std::size_t count = 0) const {
    return std::vector<Vector>(static_cast<std::size_t>(GetParam()), Vector(count, -1));
  }
};

TEST_P(OwnCounts, AreScatteredAndGathered) {
  const int n = GetParam();
  for (Rank root = 0; root < n; ++root) {
    const auto seed = static_cast<std::uint64_t>(root + 1);
    const Traffic traffic{n, seed};
    const Sizes sent = traffic.sent(root);
    const Vector whole = traffic.outgoing(root);
    std::vector<Vector> blocks = buffers();
    run(seed, [&](Communicator& world, Rank rank) {
      Vector& block = blocks[static_cast<std::size_t>(rank)];
      block.resize(traffic.count(root, rank));
      if (rank == root) return world.scatterv_async(whole, sent, block, root);
      return world.scatterv_async({}, {}, block, root);
    });
    for (Rank rank = 0; rank < n; ++rank)
      EXPECT_EQ(blocks[static_cast<std::size_t>(rank)], traffic.block(root, rank));
    Vector gathered(whole.size());
    run(seed, [&](Communicator& world, Rank rank) {
      const Vector& block = blocks[static_cast<std::size_t>(rank)];
      if (rank == root) return world.gatherv_async(block, gathered, sent, root);
      return world.gatherv_async(block, std::span<int>{}, {}, root);
    });
    EXPECT_EQ(gathered, whole);
  }
}

TEST_P(OwnCounts, AreExchangedByWhateverAlgorithmCan) {
  const int n = GetParam();
  const std::vector<std::string> rows{"", "direct", "pairwise", "linear:k=2"};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Traffic traffic{n, row + 5};
    std::vector<Vector> in = buffers();
    std::vector<Vector> out = buffers();
    std::vector<Sizes> sent;
    std::vector<Sizes> received;
    for (Rank rank = 0; rank < n; ++rank) {
      sent.push_back(traffic.sent(rank));
      received.push_back(traffic.received(rank));
      in[static_cast<std::size_t>(rank)] = traffic.outgoing(rank);
      out[static_cast<std::size_t>(rank)].resize(traffic.incoming(rank).size());
    }
    run(row + 1, [&](Communicator& world, Rank rank) {
      const auto r = static_cast<std::size_t>(rank);
      return world.all_to_allv_async(in[r], sent[r], out[r], received[r], {.algorithm = rows[row]});
    });
    for (Rank rank = 0; rank < n; ++rank)
      EXPECT_EQ(out[static_cast<std::size_t>(rank)], traffic.incoming(rank)) << rows[row];
  }
}

TEST_P(OwnCounts, MayBeKnownToAll) {
  const int n = GetParam();
  const Traffic traffic{n, 9};
  const Sizes counts = traffic.received(0);
  const Vector whole = traffic.incoming(0);
  std::vector<Vector> in = buffers();
  for (Rank rank = 0; rank < n; ++rank) in[static_cast<std::size_t>(rank)] = traffic.block(rank, 0);
  std::vector<Vector> out = buffers(whole.size());
  run(3, [&](Communicator& world, Rank rank) {
    const auto r = static_cast<std::size_t>(rank);
    return world.all_gatherv_async(in[r], out[r], counts);
  });
  for (const Vector& result : out) EXPECT_EQ(result, whole);
  std::vector<Vector> blocks = buffers();
  run(4, [&](Communicator& world, Rank rank) {
    Vector& block = blocks[static_cast<std::size_t>(rank)];
    block.resize(counts[static_cast<std::size_t>(rank)]);
    return world.reduce_scatterv_async(whole, block, counts, sum);
  });
  for (Rank rank = 0; rank < n; ++rank) {
    Vector wanted = traffic.block(rank, 0);
    for (int& element : wanted) element *= n;
    EXPECT_EQ(blocks[static_cast<std::size_t>(rank)], wanted);
  }
}

// Whose buffers are as large as a scatter's, and who alone is asked for counts.
TEST_P(OwnCounts, AreAnotherCallThanEqualOnes) {
  const auto n = static_cast<std::size_t>(GetParam());
  World world{GetParam(), 2};
  Vector whole;
  for (std::size_t i = 0; i < 10 * n; ++i) whole.push_back(static_cast<int>(i));
  const Sizes equal(n, 10);
  Sizes counts = equal;  // another cut of as many elements
  if (n > 2) counts[1] -= 5, counts[2] += 5;
  const Sizes nonsense{1, 2, 3};
  for (const bool unequal : {false, true, false}) {
    std::vector<Vector> blocks = buffers();
    std::vector<Task> tasks;
    for (Rank rank = 0; rank < GetParam(); ++rank) {
      Vector& block = blocks[static_cast<std::size_t>(rank)];
      block.resize((unequal ? counts : equal)[static_cast<std::size_t>(rank)]);
      const call::In<Vector&> in = rank == 0 ? call::In<Vector&>{whole} : call::In<Vector&>{};
      const Counts said = rank == 0 ? Counts{counts} : Counts{nonsense};
      tasks.push_back(task_of(rank, unequal ? world[rank].scatterv_async(in, said, block)
                                            : world[rank].scatter_async(in, block)));
    }
    ASSERT_TRUE(world.drive(tasks));
    for (const Task& task : tasks) ASSERT_FALSE(task.error) << task.error->what();
    for (std::size_t rank = 0, sum = 0; rank < n; ++rank) {
      sum += blocks[rank].size();
      EXPECT_EQ(blocks[rank].back(), static_cast<int>(sum - 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, OwnCounts, ::testing::Values(1, 2, 3, 5, 8));

/// @return what a call says that must be refused before anything is sent.
template <class Start>
std::string refusal(const Start& start) {
  World world{3};
  try {
    (void)start(world[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(world.cluster().transfers(), 0u);
    return error.what();
  }
  return "not refused";
}

TEST(OwnCountsThat, DoNotAddUpAreRefused) {
  const Vector in(6);
  Vector out(6);
  const Sizes two{3, 3};
  const Sizes short_by_one{1, 2, 2};
  const Sizes right{1, 2, 3};
  EXPECT_EQ(refusal([&](Communicator& c) { return c.all_to_allv_async(in, two, out, right); }),
            "all_to_all: 2 counts are given for the input, expected one per rank, 3");
  EXPECT_EQ(
      refusal([&](Communicator& c) { return c.all_to_allv_async(in, right, out, short_by_one); }),
      "all_to_all: the output has 6 elements, expected 5");
  EXPECT_EQ(
      refusal([&](Communicator& c) { return c.scatterv_async(in, short_by_one, out); }),
      "scatter: the block that the rank keeps has 1 element in the input and 6 in the output");
  EXPECT_EQ(
      refusal([&](Communicator& c) { return c.gatherv_async(in, out, right); }),
      "gather: the block that the rank keeps has 6 elements in the input and 1 in the output");
  EXPECT_NE(refusal([&](Communicator& c) {
              return c.all_to_allv_async(in, right, out, right, {.algorithm = "bruck"});
            }).find("cannot serve: it passes on blocks whose sizes not every rank knows"),
            std::string::npos);
}

// The receiver says what the sender's message should have had.
TEST(OwnCountsThat, DisagreeAreAMismatch) {
  World world{2};
  const Vector in(4);
  Vector first(4);
  Vector second(5);
  const Sizes two{2, 2};
  const Sizes three{3, 2};
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, world[0].all_to_allv_async(in, two, first, two)));
  tasks.push_back(task_of(1, world[1].all_to_allv_async(in, two, second, three)));
  world.drive(tasks);
  ASSERT_TRUE(tasks[1].error);
  EXPECT_EQ(tasks[1].error->code(), ErrorCode::mismatch) << tasks[1].error->what();
}

/// What both ranks are told, at the latest by a barrier afterwards, where rank 0 sends and receives
/// so much, and rank 1 one element to and from everybody.
std::vector<Error> errors_of(const Sizes& sent, const Sizes& received) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager},
               .communicator = {.timeout = std::chrono::seconds{1}}}};
  const Sizes one{1, 1};
  const Vector in(sent[0] + sent[1]);
  const Vector in_one(2);
  Vector out(received[0] + received[1]);
  Vector out_one(2);
  std::vector<Task> tasks;
  tasks.push_back(task_of(0, world[0].all_to_allv_async(in, sent, out, received)));
  tasks.push_back(task_of(1, world[1].all_to_allv_async(in_one, one, out_one, one)));
  EXPECT_TRUE(world.drive(tasks, std::chrono::seconds{3})) << "a rank waits for ever";
  std::vector<Error> errors;
  std::vector<Task> later;
  for (const Task& task : tasks) {
    if (task.error) {
      errors.push_back(*task.error);
    } else if (auto barrier = world[task.rank].try_start(call::barrier())) {
      later.push_back(task_of(task.rank, std::move(barrier.value())));
    } else {
      errors.push_back(barrier.error());
    }
  }
  EXPECT_TRUE(world.drive(later, std::chrono::seconds{3})) << "a rank waits for ever";
  for (const Task& task : later)
    if (task.error) errors.push_back(*task.error);
  return errors;
}

TEST(OwnCountsThat, DisagreeAboutAnEmptyBlockAreAnErrorOnBothRanks) {
  const std::vector<Error> missing = errors_of({1, 0}, {1, 1});
  ASSERT_EQ(missing.size(), 2U);
  for (const Error& error : missing) {
    EXPECT_EQ(error.cause(), ErrorCode::timeout);
    EXPECT_EQ(error.culprit(), 0);
    EXPECT_NE(std::string{error.what()}.find("(where counts disagree, a rank waits for what"),
              std::string::npos)
        << error.what();
  }
  const std::vector<Error> needless = errors_of({1, 1}, {1, 0});
  ASSERT_EQ(needless.size(), 2U);
  for (const Error& error : needless) EXPECT_EQ(error.cause(), ErrorCode::mismatch) << error.what();
}

}  // namespace
}  // namespace tutti::harness
