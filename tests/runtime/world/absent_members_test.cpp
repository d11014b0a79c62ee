// Ranks that never make a group: those that wait for them in it get an error before the deadline.
#include <numeric>
#include <vector>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

class AbsentMembers : public ::testing::TestWithParam<Setting> {};

Communicator group_of_all(Communicator& whole) {
  std::vector<Rank> members(static_cast<std::size_t>(whole.size()));
  std::iota(members.begin(), members.end(), 0);
  return whole.group(members);
}

TEST_P(AbsentMembers, ThatHaveLeftTheWorldAreNamed) {
  const std::vector<Outcome> outcomes = in_world(GetParam(), [](Communicator& world) {
    if (world.rank() != 0) group_of_all(world).barrier();
  });
  EXPECT_EQ(outcomes.front().text(), "");
  for (std::size_t rank = 1; rank < outcomes.size(); ++rank) {
    ASSERT_TRUE(outcomes[rank].error) << "rank " << rank << " noticed nothing";
    EXPECT_EQ(outcomes[rank].error->code(), ErrorCode::peer_dead) << outcomes[rank].text();
    EXPECT_EQ(outcomes[rank].error->culprit(), 0) << outcomes[rank].text();
  }
}

TEST_P(AbsentMembers, OfACommunicatorThatHasFailedAreNamed) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    Communicator whole = group_of_all(world);
    world.barrier();
    if (world.rank() == 0) {
      static_cast<void>(whole.async().barrier());  // dropped while it is pending
    } else {
      try {
        group_of_all(whole).barrier();
        ADD_FAILURE() << "rank " << world.rank() << " noticed nothing";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
      }
    }
    world.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Transports, AbsentMembers,
                         ::testing::Values(Setting{2, "shm", 1}, Setting{3, "shm", 1},
                                           Setting{3, "tcp", 3}, Setting{4, "auto", 2}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
