// Blocks of different sizes; a rank knows those that it sends or receives.
#include <algorithm>
#include <tuple>
#include <vector>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using Vector = std::vector<int>;
using Sizes = std::vector<std::size_t>;

int value(Rank from, Rank to, std::size_t index) {
  return (from + 1) * 1'000'000 + (to + 1) * 10'000 + static_cast<int>(index);
}

/// The elements that each rank sends to each other rank, some of them none.
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
    const Options options{.algorithm = root % 2 == 0 ? "" : "linear:k=2"};
    const Sizes sent = traffic.sent(root);
    const Vector whole = traffic.outgoing(root);
    std::vector<Vector> blocks = buffers();
    run(seed, [&](Communicator& world, Rank rank) {
      Vector& block = blocks[static_cast<std::size_t>(rank)];
      block.resize(traffic.count(root, rank));
      if (rank == root) return world.async().scatterv(whole, sent, block, root, options);
      return world.async().scatterv({}, {}, block, root, options);
    });
    for (Rank rank = 0; rank < n; ++rank)
      EXPECT_EQ(blocks[static_cast<std::size_t>(rank)], traffic.block(root, rank));
    Vector gathered(whole.size());
    run(seed, [&](Communicator& world, Rank rank) {
      const Vector& block = blocks[static_cast<std::size_t>(rank)];
      if (rank == root) return world.async().gatherv(block, gathered, sent, root, options);
      return world.async().gatherv(block, std::span<int>{}, {}, root, options);
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
      return world.async().all_to_allv(in[r], sent[r], out[r], received[r],
                                       {.algorithm = rows[row]});
    });
    for (Rank rank = 0; rank < n; ++rank)
      EXPECT_EQ(out[static_cast<std::size_t>(rank)], traffic.incoming(rank)) << rows[row];
  }
}

// Their buffers have the sizes of a scatter's, and only the root needs counts.
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
      tasks.push_back(task_of(rank, unequal ? world[rank].async().scatterv(in, said, block)
                                            : world[rank].async().scatter(in, block)));
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
  EXPECT_EQ(refusal([&](Communicator& c) { return c.async().all_to_allv(in, two, out, right); }),
            "all_to_all: 2 counts are given for the input, expected one per rank, 3");
  EXPECT_EQ(
      refusal([&](Communicator& c) { return c.async().all_to_allv(in, right, out, short_by_one); }),
      "all_to_all: the output has 6 elements, expected 5");
  EXPECT_EQ(
      refusal([&](Communicator& c) { return c.async().scatterv(in, short_by_one, out); }),
      "scatter: the block that the rank keeps has 1 element in the input and 6 in the output");
  EXPECT_EQ(
      refusal([&](Communicator& c) { return c.async().gatherv(in, out, right); }),
      "gather: the block that the rank keeps has 6 elements in the input and 1 in the output");
  EXPECT_NE(refusal([&](Communicator& c) {
              return c.async().all_to_allv(in, right, out, right, {.algorithm = "bruck"});
            }).find("cannot serve: it forwards blocks whose sizes not every rank knows"),
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
  tasks.push_back(task_of(0, world[0].async().all_to_allv(in, two, first, two)));
  tasks.push_back(task_of(1, world[1].async().all_to_allv(in, two, second, three)));
  world.drive(tasks);
  ASSERT_TRUE(tasks[1].error);
  EXPECT_EQ(tasks[1].error->code(), ErrorCode::mismatch) << tasks[1].error->what();
}

/// How a call ended on the ranks.
struct Ending {
  std::vector<Error> errors;  ///< The errors, by the 64th barrier afterwards at the latest.
  std::vector<bool> passed;   ///< Whether the call itself succeeded.
};

/// @param start makes a rank's Request.
template <class Start>
Ending end_of(int size, sim::Delivery delivery, const Start& start) {
  World world{{.cluster = {.size = size, .delivery = delivery},
               .communicator = {.timeout = std::chrono::seconds{1}}}};
  Ending ending;
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < size; ++rank) tasks.push_back(task_of(rank, start(world[rank], rank)));
  for (int round = 0; round <= 64 && !tasks.empty(); ++round) {
    EXPECT_TRUE(world.drive(tasks, std::chrono::seconds{3})) << "a rank hangs";
    std::vector<Task> barriers;
    for (const Task& task : tasks) {
      if (round == 0) ending.passed.push_back(task.done);
      if (task.error) {
        ending.errors.push_back(*task.error);
      } else if (auto barrier = world[task.rank].try_().start(call::barrier())) {
        barriers.push_back(task_of(task.rank, std::move(barrier.value())));
      } else {
        ending.errors.push_back(barrier.error());
      }
    }
    tasks = std::move(barriers);
  }
  return ending;
}

/// @return both ranks' errors if rank 0 sends and receives these sizes, and rank 1 one element to
/// and from each rank.
std::vector<Error> errors_of(const Sizes& sent, const Sizes& received) {
  const Sizes one{1, 1};
  const Vector in(sent[0] + sent[1]);
  const Vector in_one(2);
  Vector out(received[0] + received[1]);
  Vector out_one(2);
  return end_of(2, sim::Delivery::eager,
                [&](Communicator& world, Rank rank) {
                  if (rank == 0) return world.async().all_to_allv(in, sent, out, received);
                  return world.async().all_to_allv(in_one, one, out_one, one);
                })
      .errors;
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

/// A block of which the root says one size, and the rank whose it is another.
struct Dispute {
  std::size_t at_root;
  std::size_t at_rank;
};

class OwnCountsInDispute
    : public ::testing::TestWithParam<std::tuple<Dispute, sim::Delivery, Rank>> {
 protected:
  static constexpr int kSize = 3;
  static constexpr int kUntouched = -1;

  void SetUp() override {
    sizes_[place(odd_)] = dispute_.at_root;
    for (const std::size_t size : sizes_)
      for (std::size_t i = 0; i < size; ++i) whole_.push_back(static_cast<int>(whole_.size()));
  }
  [[nodiscard]] static std::size_t place(Rank rank) { return static_cast<std::size_t>(rank); }
  /// @return how many elements a rank takes its block for.
  [[nodiscard]] std::size_t own_size(Rank rank) const {
    return rank == odd_ ? dispute_.at_rank : sizes_[place(rank)];
  }
  /// Expects errors on all ranks. An empty block is not sent, so a rank that expects another waits.
  /// So may a rank whose block no rank receives, unless that is found before the deadline.
  static void expect_told(const Ending& ending, std::size_t sent, std::size_t expected) {
    ASSERT_EQ(ending.errors.size(), place(kSize)) << "a rank noticed nothing";
    for (const Error& error : ending.errors)
      EXPECT_TRUE((sent != 0 && error.cause() == ErrorCode::mismatch) ||
                  ((sent == 0 || expected == 0) && error.cause() == ErrorCode::timeout))
          << error.what();
  }

  Dispute dispute_ = std::get<Dispute>(GetParam());
  sim::Delivery delivery_ = std::get<sim::Delivery>(GetParam());
  Rank root_ = std::get<Rank>(GetParam());
  Rank odd_ = (root_ + 1) % kSize;
  Sizes sizes_{2, 2, 2};  // as the root says
  Vector whole_{};
};

TEST_P(OwnCountsInDispute, OfAScatterAreAnErrorOnAllRanks) {
  std::vector<Vector> blocks;
  for (Rank rank = 0; rank < kSize; ++rank) blocks.emplace_back(own_size(rank), kUntouched);
  const Ending ending = end_of(kSize, delivery_, [&](Communicator& world, Rank rank) {
    if (rank == root_) return world.async().scatterv(whole_, sizes_, blocks[place(rank)], root_);
    return world.async().scatterv({}, {}, blocks[place(rank)], root_);
  });
  expect_told(ending, dispute_.at_root, dispute_.at_rank);
  EXPECT_TRUE(own_size(odd_) == 0 || !ending.passed[place(odd_)])
      << "took another block for its own";
  std::size_t begin = 0;
  for (Rank rank = 0; rank < kSize; ++rank) {
    const std::size_t size = sizes_[place(rank)];
    if (rank != odd_ && ending.passed[place(rank)]) {
      EXPECT_TRUE(std::equal(blocks[place(rank)].begin(), blocks[place(rank)].end(),
                             whole_.begin() + static_cast<std::ptrdiff_t>(begin)))
          << "wrong data on rank " << rank;
    }
    begin += size;
  }
}

TEST_P(OwnCountsInDispute, OfAGatherAreAnErrorOnAllRanks) {
  Vector gathered(whole_.size(), kUntouched);
  const Vector block(4, 7);
  const Ending ending = end_of(kSize, delivery_, [&](Communicator& world, Rank rank) {
    const std::span<const int> own = std::span{block}.first(own_size(rank));
    if (rank == root_) return world.async().gatherv(own, gathered, sizes_, root_);
    return world.async().gatherv(own, std::span<int>{}, {}, root_);
  });
  expect_told(ending, dispute_.at_rank, dispute_.at_root);
  EXPECT_TRUE(dispute_.at_root == 0 || !ending.passed[place(root_)]) << "took what is no block";
}

INSTANTIATE_TEST_SUITE_P(
    Of, OwnCountsInDispute,
    ::testing::Combine(::testing::Values(Dispute{3, 2}, Dispute{2, 3}, Dispute{1, 4}, Dispute{0, 1},
                                         Dispute{1, 0}),
                       ::testing::Values(sim::Delivery::random, sim::Delivery::eager,
                                         sim::Delivery::rendezvous),
                       ::testing::Values(0, 2)));

}  // namespace
}  // namespace tutti::harness
