// Functions that run on every rank of a simulated cluster.
#include <chrono>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/testing.hpp>

namespace tutti::sim {
namespace {

/// @return the order in which ranks came out of some calls.
std::vector<Rank> order_of_ranks(std::uint64_t seed) {
  std::vector<Rank> order;
  const auto errors = run_ranks({.size = 4, .seed = seed}, [&](Communicator& world) {
    for (int call = 0; call < 8; ++call) {
      EXPECT_EQ(world.all_reduce(world.rank() + call), 6 + 4 * call);
      order.push_back(world.rank());
    }
  });
  for (const auto& error : errors) EXPECT_FALSE(error) << error->what();
  return order;
}

TEST(RunRanks, OrderFollowsTheSeed) {
  EXPECT_EQ(order_of_ranks(3), order_of_ranks(3));
  EXPECT_NE(order_of_ranks(3), order_of_ranks(4));
}

TEST(RunRanks, DeathEndsEveryRankAndIsNamed) {
  const auto errors =
      run_ranks({.size = 3,
                 .faults = {{.rank = 1, .kind = Fault::Kind::death, .after_transfers = 5}},
                 .detect_death = true},
                [](Communicator& world) {
                  while (true) world.barrier();
                });
  ASSERT_EQ(errors.size(), 3U);
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->culprit(), 1) << error->what();
  }
  EXPECT_EQ(errors[1]->code(), ErrorCode::peer_dead);
}

// An undetected death is found at the deadline.
TEST(RunRanks, DeadlinesTakeNoTime) {
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks({.size = 2, .faults = {{.rank = 1, .kind = Fault::Kind::death}}},
                                [](Communicator& world) { world.barrier(); },
                                {.timeout = std::chrono::hours{1000}});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::hours{1});
  ASSERT_TRUE(errors[0]);
  EXPECT_EQ(errors[0]->code(), ErrorCode::timeout);
}

TEST(RunRanks, OtherExceptionsAreThrownWhenAllRanksHaveEnded) {
  int ended = 0;
  const auto run = [&] {
    static_cast<void>(run_ranks({.size = 3}, [&](Communicator& world) {
      world.barrier();
      ++ended;
      if (world.rank() != 0) throw std::runtime_error{"rank " + std::to_string(world.rank())};
    }));
  };
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "rank 1");
  }
  EXPECT_EQ(ended, 3);
}

TEST(RunRanks, OptionsReachCommunicators) {
  const auto errors = run_ranks({.size = 1},
                                [](Communicator& world) {
                                  EXPECT_EQ(world.options().timeout, std::chrono::seconds{7});
                                  EXPECT_EQ(world.size(), 1);
                                },
                                {.timeout = std::chrono::seconds{7}});
  EXPECT_FALSE(errors[0]);
  EXPECT_THROW(static_cast<void>(run_ranks({.size = 0}, [](Communicator&) {})), Error);
}

}  // namespace
}  // namespace tutti::sim
