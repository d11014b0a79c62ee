// Collectives that go one of two ways between pretended hosts: TCP, or memory that all share.
#include <thread>

#include <gtest/gtest.h>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/conformance/backends.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/threaded_run.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr int kSize = 4;

conformance::Backend backend() {
  for (conformance::Backend& found : conformance::hybrid_backends())
    if (found.variant == "_two_ways") return found;
  throw std::runtime_error{"there is no backend of two ways"};
}

class TransportSet : public ::testing::Test {
 protected:
  explicit TransportSet(const CommunicatorOptions& options = {}) {
    // Messages cost less on the first way, and bytes on the second.
    const CostModel quick{.costs = {.alpha = 1'000'000'000, .beta = 8'000'000},
                          .origin = "of quick"};
    const CostModel wide{.costs = {.alpha = 40'000'000'000, .beta = 100'000}, .origin = "of wide"};
    const std::vector<Rank> members{0, 1, 2, 3};
    for (Rank rank = 0; rank < kSize; ++rank)
      ranks_.push_back(make_communicator(
          CommunicatorParts{
              .transport = links_->transport(
                  rank, {.communicator = 1, .members = members, .failure_signal = {}}),
              .cost_model = quick,
              .other_cost_models = {wide}},
          make_host_memory(), options));
  }
  Communicator& at(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  /// @return the first line of what would run.
  std::string chosen(std::size_t count, const Options& options = {}) {
    std::vector<float> data(count);
    const std::string text = at(0).explain(call::all_reduce(data, std::span{data}, sum), options);
    return text.substr(0, text.find('\n'));
  }
  /// Sums on all ranks. @param counts of each. @param ways of each. @return how each failed.
  std::vector<std::optional<Error>> sum_up(const std::vector<std::size_t>& counts,
                                           const std::vector<std::string>& transports) {
    std::vector<std::optional<Error>> errors(kSize);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < kSize; ++rank)
      threads.emplace_back([&, rank] {
        const auto index = static_cast<std::size_t>(rank);
        std::vector<float> data(counts[index], 1.0F);
        try {
          at(rank).all_reduce(
              std::span{data}, sum,
              {.algorithm = "ring", .transport = transports[index], .timeout = test::kAmple});
        } catch (const Error& error) {
          errors[index] = error;
        }
      });
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  std::unique_ptr<conformance::Links> links_ = backend().connect({.size = kSize});
  std::vector<Communicator> ranks_{};
};

TEST_F(TransportSet, AreTakenWhereTheyCostLess) {
  EXPECT_NE(chosen(2).find(" by shm+tcp (least predicted time"), std::string::npos) << chosen(2);
  EXPECT_NE(chosen(1 << 20).find(" by shm+shm (least predicted time"), std::string::npos)
      << chosen(1 << 20);
}

TEST_F(TransportSet, AreExplained) {
  std::vector<float> data(2);
  const std::string text = at(1).explain(call::all_reduce(data, std::span{data}, sum));
  const std::size_t other = text.find("\nnot chosen, ");
  ASSERT_NE(other, std::string::npos) << text;
  EXPECT_LT(text.find("of quick"), other) << text;
  EXPECT_GT(text.find(" by shm+shm ("), other) << text;
  EXPECT_GT(text.find("of wide"), other) << text;
}

TEST_F(TransportSet, AreTakenAsACallSays) {
  for (const char* const name : {"shm", "shm+shm"}) {
    const std::string text = chosen(2, {.transport = name});
    EXPECT_NE(text.find(" by shm+shm ("), std::string::npos) << text;
  }
  EXPECT_NE(
      chosen(1 << 20, {.algorithm = "ring", .transport = "tcp"}).find("ring by shm+tcp (forced)"),
      std::string::npos);
  try {
    static_cast<void>(chosen(2, {.transport = "mpi"}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(),
                 "this communicator has no transport 'mpi'; choose shm+tcp or shm+shm");
  }
  int value = 0;
  EXPECT_THROW(at(0).send(std::span<const int>{&value, 1}, 1, 0, {.transport = "tcp"}), Error);
}

/// As TransportSet, with a route that the communicator names.
class OneOfWays : public TransportSet {
 protected:
  OneOfWays() : TransportSet{{.transport = "shm"}} {}
};

TEST_F(OneOfWays, IsTakenAsTheCommunicatorSays) {
  EXPECT_NE(chosen(2).find(" by shm+shm ("), std::string::npos) << chosen(2);
  EXPECT_NE(chosen(2, {.transport = "tcp"}).find(" by shm+tcp ("), std::string::npos);
}

TEST(WaysOfACommunicator, AreRefusedWhereItIsMade) {
  const auto links = backend().connect({.size = 1});
  EXPECT_THROW(static_cast<void>(make_communicator(
                   links->transport(0, {.communicator = 1, .members = {0}, .failure_signal = {}}),
                   make_host_memory(), {.transport = "mpi"})),
               Error);
}

// Short and long ones in turn, so that calls follow each other on different ways.
TEST_F(TransportSet, GiveTheRightResultsInTurn) {
  for (int kind = 0; kind < kCollectives; ++kind)
    for (const std::size_t count : {1, 300000, 7, 40000, 0, 1000}) {
      const auto collective = static_cast<Collective>(kind);
      EXPECT_EQ(run_in_threads(ranks_, {.collective = collective,
                                        .size = kSize,
                                        .counts = cut(count, blocks_of(collective, kSize)),
                                        .root = is_rooted(collective) ? kSize - 1 : 0,
                                        .model = model_of(Datatype::f32, OperatorKind::sum),
                                        .salt = count}),
                "");
    }
}

TEST_F(TransportSet, ThatDifferBetweenRanksAreAMismatch) {
  for (const auto& error : sum_up({1000, 1000, 1000, 1000}, {"tcp", "tcp", "shm", "tcp"})) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->cause(), ErrorCode::mismatch) << error->what();
  }
}

TEST_F(TransportSet, OfCallsThatDifferAreAMismatch) {
  for (const auto& error : sum_up({2, 2, 2, 1 << 20}, {"", "", "", ""})) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->cause(), ErrorCode::mismatch) << error->what();
  }
}

TEST_F(TransportSet, SayWhoDiesOnAnyOfThem) {
  std::vector<std::optional<Error>> errors(kSize);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < kSize; ++rank)
    threads.emplace_back([&, rank] {
      std::vector<float> data(5000, 1.0F);
      try {
        for (int i = 0; rank != 2 || i < 20; ++i)
          at(rank).all_reduce(std::span{data}, sum, {.transport = i % 2 == 0 ? "tcp" : "shm"});
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error;
      }
      if (rank == 2) links_->kill(2);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Rank rank : {0, 1, 3}) {
    const auto& error = errors[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(error) << rank;
    EXPECT_EQ(error->cause(), ErrorCode::peer_dead) << error->what();
    EXPECT_EQ(error->culprit(), 2) << error->what();
  }
}

}  // namespace
}  // namespace tutti::harness
