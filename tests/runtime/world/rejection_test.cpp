// Calls that one rank rejects: the others get its reason, and no later call of it meets an earlier
// one of theirs.
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include <tutti/batch.hpp>
#include <tutti/spi/rejection.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

const std::string kReason = "all_reduce: the layer above has rules of its own";

class Rejections : public ::testing::TestWithParam<Setting> {
 protected:
  static void expect_rejection(const std::vector<Outcome>& outcomes, const std::string& text,
                               Rank culprit) {
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.error) << "a rank noticed nothing";
      EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch) << outcome.text();
      EXPECT_EQ(outcome.error->culprit(), culprit) << outcome.text();
      EXPECT_NE(outcome.text().find(text), std::string::npos) << outcome.text();
    }
  }
};

/// Its sum of ones on all ranks.
int sum_of_ones(Communicator& world) {
  std::vector<int> x(1, 1);
  world.all_reduce(std::span{x});
  return x.front();
}

TEST_P(Rejections, OfOneRankFailAllRanksWithItsReason) {
  const std::vector<Outcome> outcomes = in_world(GetParam(), [](Communicator& world) {
    EXPECT_EQ(sum_of_ones(world), world.size());
    if (world.rank() == 1) reject_call(world, {.collective = Collective::all_reduce}, kReason);
    for (int i = 0; i < 2; ++i) static_cast<void>(sum_of_ones(world));
  });
  expect_rejection(outcomes, "rank 1 rejected the arguments of call #2: " + kReason, 1);
}

TEST_P(Rejections, OfAllRanksChangeNothing) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    for (int i = 0; i < 300; ++i) {  // positions and tags come round
      reject_call(world, call::barrier(), kReason + std::to_string(world.rank()));
      EXPECT_EQ(sum_of_ones(world), world.size());
    }
    EXPECT_THROW(batch([&] { reject_call(world, call::barrier(), kReason); }), Error);
    EXPECT_EQ(sum_of_ones(world), world.size());
  }));
}

TEST_P(Rejections, TakeTheirPlacesBehindCallsThatWait) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    std::vector<std::vector<int>> data(150, std::vector<int>(1, 1));
    std::vector<Request> requests;
    for (std::vector<int>& x : data) {
      requests.push_back(world.async().all_reduce(std::span{x}));
      reject_call(world, call::barrier(), kReason);
    }
    for (Request& request : requests) request.wait();
    for (const std::vector<int>& x : data) EXPECT_EQ(x.front(), world.size());
  }));
}

/// Rank 0 sends to rank 1, with a tag; one of them rejects its call, and both go on.
std::vector<Outcome> send_to_next(const Setting& setting, Rank odd) {
  return in_world(setting, [odd](Communicator& world) {
    std::vector<int> x(1 << 20, world.rank());
    const Call send = call::send(std::span<const int>{x}, 1, 3);
    const Call recv = call::recv(std::span{x}, 0, 3);
    if (world.rank() < 2) {
      if (world.rank() == odd) reject_call(world, odd == 0 ? send : recv, "no such message");
      else if (world.rank() == 0) world.run(send);
      else world.run(recv);
    }
    for (int i = 0; i < 2; ++i) world.barrier();
  });
}

TEST_P(Rejections, OfASendReachItsReceiver) {
  expect_rejection(
      send_to_next(GetParam(), 0),
      "rank 0 rejected the arguments of its send, for which this rank waits: no such message", 0);
}

TEST_P(Rejections, OfAReceiveReachItsSender) {
  expect_rejection(send_to_next(GetParam(), 1),
                   "which sent i32 elements of 4 bytes: no such message", 1);
}

TEST_P(Rejections, OfBothEndsOfAMessageMeet) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    std::vector<int> x(4, world.rank());
    for (int i = 0; i < 3; ++i) {
      if (world.rank() == 0) {
        reject_call(world, call::send(std::span<const int>{x}, 1, 3), kReason);
        world.send(std::span<const int>{x}, 1, 3);
      } else if (world.rank() == 1) {
        reject_call(world, call::recv(std::span{x}, 0, 3), kReason);
        world.recv(std::span{x}, 0, 3);
        EXPECT_EQ(x.front(), 0);
      }
    }
    world.barrier();
  }));
}

TEST_P(Rejections, OfMessagesThatNeverComeDisturbNothing) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    std::vector<int> x(4);
    const Rank next = (world.rank() + 1) % world.size();
    reject_call(world, call::recv(std::span{x}, next, 3), kReason);
    reject_call(world, call::recv(std::span{x}, any_rank, 3), kReason);
    reject_call(world, call::send(std::span<const int>{x}, world.size(), 3), kReason);
    reject_call(world, call::send(std::span<const int>{x}, next, kUserTags), kReason);
    EXPECT_EQ(sum_of_ones(world), world.size());
    world.barrier();
  }));
}

TEST_P(Rejections, OfAReceiveGoBeforeTheNextReceive) {
  expect_rejection(in_world(GetParam(),
                            [](Communicator& world) {
                              std::vector<int> x(4, world.rank());
                              if (world.rank() == 1) {
                                reject_call(world, call::recv(std::span{x}, 0, 3), "not this one");
                                world.recv(std::span{x}, 0, 3);
                              } else if (world.rank() == 0) {
                                world.send(std::span<const int>{x}, 1, 3);
                              }
                              for (int i = 0; i < 2; ++i) world.barrier();
                            }),
                   "which sent i32 elements of 4 bytes: not this one", 1);
}

INSTANTIATE_TEST_SUITE_P(Transports, Rejections,
                         ::testing::Values(Setting{2, "shm", 1}, Setting{3, "shm", 1},
                                           Setting{3, "tcp", 3}, Setting{4, "auto", 2}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
