// Ranks that have room for more data than they get, as CommunicatorOptions::accepts_shorter allows.
#include <string>
#include <vector>

#include "tests/collectives/rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using Vector = std::vector<int>;
using Sizes = std::vector<std::size_t>;

constexpr int kBefore = -1;

class Shorter : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static WorldOptions options(std::uint64_t seed, bool accepts = true) {
    return {.cluster = {.size = GetParam(),
                        .seed = seed,
                        .scribble = true,
                        .combines = seed % 2 == 1,
                        .visible = seed % 4 >= 2},
            .communicator = {.timeout = seconds{1}, .accepts_shorter = accepts}};
  }
  [[nodiscard]] static std::size_t number(Rank rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] static std::size_t ranks() { return number(GetParam()); }
  /// Starts a call on every rank. @return the tasks, which are over.
  template <class Start>
  static std::vector<Task> run(World& world, const Start& start) {
    std::vector<Task> tasks;
    for (Rank rank = 0; rank < GetParam(); ++rank)
      tasks.push_back(task_of(rank, start(world[rank], rank)));
    EXPECT_TRUE(world.drive(tasks, seconds{3}));
    return tasks;
  }
  static void expect_done(const std::vector<Task>& tasks) {
    for (const Task& task : tasks) EXPECT_FALSE(task.error) << task.error->what();
  }
  static void expect_some_mismatch(const std::vector<Task>& tasks) {
    bool is_found = false;
    for (const Task& task : tasks)
      is_found = is_found || (task.error && task.error->cause() == ErrorCode::mismatch);
    EXPECT_TRUE(is_found);
  }
  /// A broadcast of 3 elements of the last rank. @param room of the others, which pass all of it
  /// on.
  [[nodiscard]] static std::vector<Task> broadcast(World& world, std::vector<Vector>& data,
                                                   std::size_t room, const std::string& row) {
    data.clear();
    for (Rank rank = 0; rank < GetParam(); ++rank) data.emplace_back(room, kBefore);
    data.back() = {7, 8, 9};
    return run(world, [&](Communicator& own, Rank rank) {
      return own.async().broadcast(data[number(rank)], GetParam() - 1, {.algorithm = row});
    });
  }
};

TEST_P(Shorter, BroadcastsFillTheFrontOfAVector) {
  const std::vector<std::string> rows{"binomial", "knomial:k=3", "chain", ""};
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      World world{options(seed)};
      std::vector<Vector> data;
      for (int call = 0; call < 3; ++call) {
        expect_done(broadcast(world, data, 11, rows[row]));
        for (Vector& own : data) {
          EXPECT_EQ(Vector(own.begin(), own.begin() + 3), (Vector{7, 8, 9})) << rows[row];
          for (std::size_t i = 3; i < own.size(); ++i) EXPECT_EQ(own[i], kBefore) << rows[row];
        }
      }
    }
}

TEST_P(Shorter, BroadcastsThatDoNotFitFail) {
  World world{options(1)};
  std::vector<Vector> data;
  expect_some_mismatch(broadcast(world, data, 2, "binomial"));
  EXPECT_EQ(data.front(), Vector(2, kBefore));
}

TEST_P(Shorter, BroadcastsThatAreCutFail) {
  // Parts of other lengths lie elsewhere. Between two ranks there is nothing to cut.
  if (GetParam() == 2) return;
  World world{options(1)};
  std::vector<Vector> data;
  expect_some_mismatch(broadcast(world, data, 11, "scatter_all_gather"));
}

TEST_P(Shorter, DataFailsWithoutTheOption) {
  World world{options(1, false)};
  std::vector<Vector> data;
  expect_some_mismatch(broadcast(world, data, 11, "binomial"));
}

TEST_P(Shorter, BlocksKeepTheirPlaces) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    World world{options(seed)};
    const Rank root = GetParam() - 1;
    const Sizes room(ranks(), 5);
    Vector all(5 * ranks(), kBefore), expected = all;
    std::vector<Vector> own;
    for (Rank rank = 0; rank < GetParam(); ++rank) {  // the root's own is as long as its place
      own.emplace_back(rank == root ? 5 : 1 + number(rank) % 5, rank);
      std::ranges::copy(own.back(), expected.begin() + rank * 5);
    }
    expect_done(run(world, [&](Communicator& communicator, Rank rank) {
      if (rank != root)
        return communicator.async().gatherv(own[number(rank)], std::span<int>{}, {}, root);
      return communicator.async().gatherv(own[number(rank)], all, room, root);
    }));
    EXPECT_EQ(all, expected);

    Sizes sent;
    for (const Vector& block : own) sent.push_back(block.size());
    Vector whole;
    for (const Vector& block : own) whole.insert(whole.end(), block.begin(), block.end());
    std::vector<Vector> blocks(ranks(), Vector(5, kBefore));
    expect_done(run(world, [&](Communicator& communicator, Rank rank) {
      if (rank != root) return communicator.async().scatterv({}, {}, blocks[number(rank)], root);
      return communicator.async().scatterv(whole, sent, blocks[number(rank)], root);
    }));
    for (Rank rank = 0; rank < GetParam(); ++rank)
      EXPECT_EQ(blocks[number(rank)],
                Vector(expected.begin() + rank * 5, expected.begin() + rank * 5 + 5));
  }
}

TEST_P(Shorter, SeveralBlocksInAMessageFail) {
  if (GetParam() < 4) return;  // rank 2 sends that of rank 3 with its own
  World world{options(1)};
  Vector all(5 * ranks(), kBefore);
  const Vector own(3, 1);
  const Vector of_root(5, 0);
  expect_some_mismatch(run(world, [&](Communicator& communicator, Rank rank) {
    if (rank != 0)
      return communicator.async().gather(own, std::span<int>{}, 0, {.algorithm = "binomial"});
    return communicator.async().gather(of_root, all, 0, {.algorithm = "binomial"});
  }));
}

TEST_P(Shorter, ReductionsFail) {
  World world{options(1)};
  Vector three(3, 1), four(4, 1);
  expect_some_mismatch(run(world, [&](Communicator& communicator, Rank rank) {
    return communicator.async().all_reduce(rank == 0 ? four : three, sum);
  }));
}

/// A transport that does not let messages be shorter.
class Strict final : public Wrapper {
 public:
  explicit Strict(std::unique_ptr<Transport> inner)
      : Wrapper{std::move(inner)}, capabilities_{Wrapper::capabilities()} {
    capabilities_.shorter = false;
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }

 private:
  Capabilities capabilities_;
};

TEST_P(Shorter, DataNeedsATransportThatAllowsIt) {
  WorldOptions strict = options(1);
  strict.wrap = [](std::unique_ptr<Transport> inner) {
    return std::make_unique<Strict>(std::move(inner));
  };
  try {
    const World world{strict};
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("accepts_shorter needs a transport"),
              std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Shorter, ::testing::Values(2, 3, 4, 5),
                         ::testing::PrintToStringParamName{});

}  // namespace
}  // namespace tutti::harness
