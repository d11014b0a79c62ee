// Every collective over shared memory and TCP at once, a thread for each rank; and what all ranks
// are told where one of them fails.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/conformance/backends.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/threaded_run.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

struct Placement {
  conformance::Backend backend{};
  int size = 0;
};

void PrintTo(const Placement& placement, std::ostream* stream) {
  *stream << placement.backend.name << placement.backend.variant << " on " << placement.size;
}

class HybridCollectives : public ::testing::TestWithParam<Placement> {
 protected:
  HybridCollectives() {
    std::vector<Rank> members;
    for (Rank rank = 0; rank < size_; ++rank) members.push_back(rank);
    for (Rank rank = 0; rank < size_; ++rank)
      ranks_.push_back(make_communicator(
          links_->transport(rank, {.communicator = 1, .members = members, .failure_signal = {}}),
          make_host_memory()));
  }
  /// Runs a function on each rank, in threads. @return how each failed.
  std::vector<std::optional<Error>> run(const std::function<void(Rank)>& body) {
    std::vector<std::optional<Error>> errors(ranks_.size());
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < size_; ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (const Error& error) {
          errors[static_cast<std::size_t>(rank)] = error;
        }
      });
    for (std::thread& thread : threads) thread.join();
    return errors;
  }
  Communicator& at(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  int size_ = GetParam().size;
  std::unique_ptr<conformance::Links> links_ = GetParam().backend.connect({.size = size_});
  std::vector<Communicator> ranks_{};
};

TEST_P(HybridCollectives, GiveTheRightResults) {
  for (int kind = 0; kind < kCollectives; ++kind)
    for (const std::size_t count : {0, 1, 7, 1000, 40000, 300000}) {
      const auto collective = static_cast<Collective>(kind);
      EXPECT_EQ(run_in_threads(ranks_, {.collective = collective,
                                        .size = size_,
                                        .counts = cut(count, blocks_of(collective, size_)),
                                        .root = is_rooted(collective) ? size_ - 1 : 0,
                                        .model = model_of(Datatype::f32, OperatorKind::sum),
                                        .salt = count}),
                "");
    }
}

TEST_P(HybridCollectives, NameTheRankThatDiesAmongThem) {
  const Rank victim = size_ / 2;
  std::atomic<bool> dead{false};
  const auto errors = run([&](Rank rank) {
    std::vector<float> data(5000, 1.0F);
    for (int i = 0; rank != victim || i < 20; ++i) at(rank).all_reduce(std::span{data});
    dead = true;
    links_->kill(victim);
  });
  EXPECT_TRUE(dead);
  for (Rank rank = 0; rank < size_; ++rank) {
    if (rank == victim) continue;
    const auto& error = errors[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(error) << rank;
    EXPECT_EQ(error->cause(), ErrorCode::peer_dead) << error->what();
    EXPECT_EQ(error->culprit(), victim) << error->what();
  }
}

TEST_P(HybridCollectives, TellAllRanksOfAMismatch) {
  const auto errors = run([&](Rank rank) {
    std::vector<float> data(rank == 1 ? 999 : 1000, 1.0F);
    at(rank).all_reduce(std::span{data});
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->cause(), ErrorCode::mismatch) << error->what();
  }
}

TEST_P(HybridCollectives, TellAllRanksOfAMissedDeadline) {
  const auto start = std::chrono::steady_clock::now();
  const auto errors = run([&](Rank rank) {
    std::vector<float> data(1000, 1.0F);
    if (rank == 1) return;
    at(rank).all_reduce(std::span{data}, sum,
                        {.timeout = rank == 0 ? Duration{100ms} : test::kAmple});
  });
  EXPECT_LT(std::chrono::steady_clock::now() - start, test::kLongBefore);
  for (Rank rank = 0; rank < size_; ++rank) {
    if (rank == 1) continue;
    ASSERT_TRUE(errors[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(errors[static_cast<std::size_t>(rank)]->cause(), ErrorCode::timeout);
  }
}

std::vector<Placement> placements() {
  std::vector<Placement> all;
  for (const conformance::Backend& backend : conformance::hybrid_backends())
    all.push_back({backend, backend.variant == "_blocked" ? 4 : 3});
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Placement>& info) {
  return info.param.backend.variant.substr(1);
}

INSTANTIATE_TEST_SUITE_P(Hosts, HybridCollectives, ::testing::ValuesIn(placements()), name_of);

}  // namespace
}  // namespace tutti::harness
