// Worlds of ranks that are threads: every way of connecting, groups in any order, what is left.
#include "runtime/world/world.hpp"

#include <array>
#include <latch>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <tutti/spi/catalog.hpp>
#include <tutti/tutti.hpp>

#include "runtime/security/tls.hpp"
#include "tests/runtime/ranks.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

class WorldOf : public ::testing::TestWithParam<Setting> {};

TEST_P(WorldOf, RunsCollectivesAndLeavesNothing) {
  const int before = open_descriptors();
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    check_sums(world, everyone(world.size()));
    EXPECT_NE(world.describe().find(std::to_string(world.size()) + " rank"), std::string::npos);
  }));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(WorldOf, DividesByColorAndKey) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    const int color = world.rank() % 2;
    Communicator half = world.split(color, -world.rank());
    std::vector<Rank> ranks;
    for (Rank rank = world.size() - 1; rank >= 0; --rank)
      if (rank % 2 == color) ranks.push_back(rank);
    ASSERT_EQ(half.size(), static_cast<int>(ranks.size()));
    check_sums(half, ranks);
    Communicator again = half.split(0);
    check_sums(again, ranks);
  }));
}

TEST_P(WorldOf, LetsRanksStayOutOfASplit) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    if (world.rank() != 0) return world.split(no_color);
    Communicator alone = world.split(0);
    EXPECT_EQ(alone.size(), 1);
    check_sums(alone, everyone(1));
  }));
}

// Each rank makes its groups in an order of its own.
TEST_P(WorldOf, MakesOverlappingGroupsInAnyOrder) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    const int n = world.size();
    std::vector<std::pair<std::vector<Rank>, Communicator>> pairs;
    for (int step = 0; step < n; ++step) {
      const Rank other = (world.rank() * 3 + step) % n;
      if (other == world.rank()) continue;
      const std::vector<Rank> members{std::min(world.rank(), other), std::max(world.rank(), other)};
      pairs.emplace_back(members, world.group(members));
    }
    // Used in one order by all, or they would wait in a circle.
    std::ranges::sort(pairs, {}, [](const auto& pair) { return pair.first; });
    for (auto& [members, pair] : pairs) check_sums(pair, members);
  }));
}

TEST_P(WorldOf, KeepsEqualGroupsApart) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    const std::vector<Rank> ranks = everyone(world.size());
    Communicator first = world.group(ranks);
    Communicator second = world.group(ranks);
    std::vector<std::int64_t> a(10, 1);
    std::vector<std::int64_t> b(10, 2);
    Request one = first.async().all_reduce(std::span{a});
    second.all_reduce(std::span{b});
    one.wait();
    EXPECT_EQ(a.front(), world.size());
    EXPECT_EQ(b.front(), 2 * world.size());
  }));
}

// Threads may make one group each, in any order.
TEST_P(WorldOf, TellsGroupsOfTheSameRanksApartByKey) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    const std::vector<Rank> ranks = everyone(world.size());
    const bool is_even = world.rank() % 2 == 0;
    std::map<std::int64_t, Communicator> groups;  // by what this rank takes them for
    const auto make = [&](std::int64_t key) {
      groups.emplace(key, world.group(ranks, static_cast<std::uint64_t>(key)));
    };
    make(is_even ? 5 : 9);
    std::thread{[&] { make(is_even ? 9 : 5); }}.join();
    if (is_even) make(0);
    groups.emplace(-1, world.split(0));
    if (!is_even) make(0);
    groups.emplace(-5, world.group(ranks, 5));  // another one of this key
    std::vector<std::array<std::int64_t, 2>> said;
    for (const auto& [purpose, group] : groups) said.push_back({purpose, -purpose});
    std::vector<Request> requests;
    for (auto& [purpose, group] : groups)
      requests.push_back(group.async().all_reduce(said[requests.size()], max));
    for (Request& request : requests) request.wait();
    for (const auto& both : said)
      EXPECT_EQ(both[0], -both[1]) << "ranks take one group for several";
  }));
}

// A child may not use its copies, and its calls disturb no rank.
TEST_P(WorldOf, BelongsToTheProcessThatMadeIt) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    const std::vector<Rank> ranks = everyone(world.size());
    check_sums(world, ranks);
    if (world.rank() == 0) {
      const pid_t child = fork();
      if (child == 0) {
        int refused = 0;
        try {
          world.barrier({.timeout = 1s});
        } catch (const Error& error) {
          refused = error.code() == ErrorCode::invalid_argument ? 7 : 8;
        }
        { const Communicator gone = std::move(world); }
        _exit(refused);
      }
      int status = 0;
      waitpid(child, &status, 0);
      // Alone it sends nothing, so there is nothing to refuse.
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == (world.size() == 1 ? 0 : 7));
    }
    check_sums(world, ranks);
  }));
}

TEST_P(WorldOf, OutlivesItsFirstCommunicator) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    const std::vector<Rank> ranks = everyone(world.size());
    Communicator copy = world.group(ranks);
    const Communicator gone = std::move(world);
    check_sums(copy, ranks);
  }));
}

/// All ranks but the last, which does otherwise, call all_reduce until it fails.
std::vector<Outcome> with_an_odd_one(const Setting& setting,
                                     const std::function<void(Communicator&)>& odd) {
  return in_world(setting, [&](Communicator& world) {
    std::vector<std::int64_t> values(1000);
    world.all_reduce(std::span{values});
    if (world.rank() == world.size() - 1) odd(world);
    for (;;) world.all_reduce(std::span{values});
  });
}

/// The last rank does not come before another one has failed. Rank 0 has the least patience, which
/// begins when all others are in the call.
std::vector<Outcome> with_an_absent_one(const Setting& setting) {
  std::latch others{setting.n - 1};
  std::latch failed{1};
  return in_world(setting, [&](Communicator& world) {
    std::vector<std::int64_t> values(1000);
    world.all_reduce(std::span{values});
    if (world.rank() == world.size() - 1) {
      failed.wait();
      for (;;) world.all_reduce(std::span{values});
    }
    if (world.rank() == 0) others.arrive_and_wait();
    const Duration patience = world.rank() == 0 ? Duration{300ms} : kAmple;
    Request request = world.async().all_reduce(std::span{values}, sum, {.timeout = patience});
    if (world.rank() != 0) others.count_down();
    const auto result = request.try_wait();
    if (world.rank() == 0) failed.count_down();
    if (!result) throw Error{result.error()};
    // The last rank's data may have come before its failure: then the next call reports it.
    for (;;) world.all_reduce(std::span{values});
  });
}

// Neither of two ranks that differ is the odd one.
void expect_agreement(const std::vector<Outcome>& outcomes, ErrorCode code) {
  const bool has_majority = code != ErrorCode::mismatch || outcomes.size() > 2;
  const Rank odd = has_majority ? static_cast<Rank>(outcomes.size() - 1) : -1;
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), code) << outcome.text();
    EXPECT_EQ(outcome.error->culprit(), odd) << outcome.text();
    EXPECT_EQ(outcome.text(), outcomes.front().text());
  }
}

TEST_P(WorldOf, AgreesOnTheFirstCause) {
  if (GetParam().n == 1) return;
  expect_agreement(with_an_odd_one(GetParam(),
                                   [](Communicator& world) {
                                     std::vector<float> values(1000);
                                     world.all_reduce(std::span{values});
                                   }),
                   ErrorCode::mismatch);
  expect_agreement(with_an_absent_one(GetParam()), ErrorCode::timeout);
  expect_agreement(
      with_an_odd_one(GetParam(),
                      [](Communicator& world) {
                        std::vector<std::int64_t> values(1000);
                        for (;;)  // until one that is dropped has not ended as it began
                          static_cast<void>(world.async().all_reduce(std::span{values}));
                      }),
      ErrorCode::aborted);
}

// Both roots have sent, and wait for no rank: a later call gets the other's message.
TEST_P(WorldOf, TellsRootsThatDisagree) {
  if (GetParam().n == 1) return;
  const auto outcomes = in_world(GetParam(), [](Communicator& world) {
    world.barrier();
    std::vector<float> values(4);
    const Rank last = world.size() - 1;
    world.broadcast(std::span{values}, world.rank() == last ? last : 0);
    for (int call = 0; call < 3; ++call) world.barrier();
  });
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error) << "a rank noticed nothing";
    EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch) << outcome.text();
    EXPECT_EQ(outcome.text(), outcomes.front().text());
  }
}

// A root waits for no rank, and may be in its next call before any other rank polls.
TEST_P(WorldOf, NamesTheRankThatWentOnAlone) {
  if (GetParam().n < 3) return;
  expect_agreement(in_world(GetParam(),
                            [](Communicator& world) {
                              std::vector<float> values(4);
                              world.barrier();
                              const Rank last = world.size() - 1;
                              if (world.rank() == last) {
                                std::this_thread::sleep_for(50ms);
                                world.broadcast(std::span{values}, last);
                                world.barrier();
                              }
                              auto request = world.async().all_reduce(std::span{values});
                              std::this_thread::sleep_for(500ms);
                              request.wait();
                            }),
                   ErrorCode::mismatch);
}

TEST_P(WorldOf, ReducesBuffersThatPeersSee) {
  expect_no_error(in_world(GetParam(), [](Communicator& world) {
    auto buffer = world.allocate<std::int64_t>(50'000);
    EXPECT_EQ(buffer.is_visible(), GetParam().transports != "tcp");
    EXPECT_EQ(buffer.span().back(), 0);
    for (const std::size_t count : {1U, 1'000U, 50'000U})
      check_sums(world, everyone(world.size()), count, buffer.span());
  }));
}

// The costs for choices must be the same on all ranks, in subgroups too.
TEST_P(WorldOf, ChargesAllRanksAlike) {
  std::mutex mutex;
  std::map<std::string, std::set<std::string>> said;
  const auto say = [&](const std::string& group, Communicator& communicator) {
    const std::string cost_model = cost_model_of(communicator);
    const std::lock_guard lock{mutex};
    said[group].insert(cost_model);
  };
  expect_no_error(in_world(GetParam(), [&](Communicator& world) {
    say("all", world);
    const int host = world.rank() % GetParam().hosts;
    Communicator neighbours = world.split(host);
    say("host " + std::to_string(host), neighbours);
  }));
  const bool has_memory = GetParam().transports != "tcp" || GetParam().n == 1;
  for (const auto& [group, cost_models] : said) {
    ASSERT_EQ(cost_models.size(), 1U) << group;
    const std::string& cost_model = *cost_models.begin();
    const std::string origin = group == "all" && GetParam().hosts > 1 ? "between hosts"
                               : has_memory                           ? "assumed of shared memory"
                                                                      : "assumed of the loopback";
    EXPECT_NE(cost_model.find(origin), std::string::npos) << group << ": " << cost_model;
  }
}

// All ranks must have the same hosts, also in subgroups.
TEST_P(WorldOf, KnowsTheHostsOfItsRanks) {
  const Setting& setting = GetParam();
  expect_no_error(in_world(setting, [&setting](Communicator& world) {
    const auto groups_of = [](Communicator& communicator) {
      std::vector<std::int64_t> sums(9, 1);
      Plan plan =
          communicator.plan().all_reduce(sums, sum, {.algorithm = "hierarchical(ring, ring)"});
      plan.start();
      plan.wait();
      EXPECT_EQ(sums.back(), communicator.size());
      return parse_choice(Collective::all_reduce, plan.algorithm()).parameters();
    };
    std::vector<int> hosts;
    for (Rank rank = 0; rank < world.size(); ++rank) hosts.push_back(rank % setting.hosts);
    const Choice expected =
        on_hosts(parse_choice(Collective::all_reduce, "hierarchical(ring, ring)"), hosts);
    EXPECT_EQ(groups_of(world), expected.parameters());
    Communicator neighbours = world.split(world.rank() % setting.hosts);
    EXPECT_EQ(groups_of(neighbours), "groups=1");
  }));
}

// A rank that lacks memory for a group may free some and try again, whatever the others do.
TEST(World, MakesAGroupThatCouldNotBeMadeAtFirst) {
  constexpr std::size_t kSegment = std::size_t{64} << 20;
  const auto make = [](Communicator& world) {
    if (world.rank() != 0) return world.group({0, 1});
    std::vector<Buffer<char>> filling;
    for (std::size_t bytes = kSegment / 2; bytes >= 4096;) {
      try {
        filling.push_back(world.allocate<char>(bytes));
      } catch (const std::exception&) {
        bytes /= 2;
      }
    }
    const std::vector<Rank> both{0, 1};
    const auto refused = world.try_group(std::span{both});
    EXPECT_TRUE(!refused && refused.error().code() == ErrorCode::transport);
    filling.clear();
    return world.group(both);
  };
  expect_no_error(in_world(
      {2, "shm", 1},
      [&](Communicator& world) {
        Communicator both = make(world);
        check_sums(both, everyone(2));
      },
      kAmple, kSegment));
}

std::string name_of_setting(const ::testing::TestParamInfo<Setting>& info) {
  std::ostringstream name;
  name << info.param;
  return name.str();
}

INSTANTIATE_TEST_SUITE_P(Settings, WorldOf,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{1, "tcp", 1},
                                           Setting{2, "shm", 1}, Setting{2, "auto", 2},
                                           Setting{3, "tcp", 1}, Setting{4, "auto", 1},
                                           Setting{4, "auto", 2}, Setting{5, "auto", 3},
                                           Setting{3, "auto", 3}, Setting{2, "tcp", 1, has_tls()},
                                           Setting{6, "auto", 3, has_tls()}),
                         name_of_setting);

TEST(World, RefusesGroupsThatCannotBe) {
  expect_no_error(in_world({2, "auto", 1}, [](Communicator& world) {
    const auto refusal = [&](std::initializer_list<Rank> members) {
      const auto made = world.try_group(std::span{members.begin(), members.size()});
      return made ? "made" : std::string{made.error().what()};
    };
    EXPECT_EQ(refusal({world.rank(), 2}), "a group names rank 2, but there are ranks 0 to 1");
    EXPECT_EQ(refusal({world.rank(), -1}), "a group names rank -1, but there are ranks 0 to 1");
    EXPECT_EQ(refusal({world.rank(), world.rank()}),
              "a group names rank " + std::to_string(world.rank()) + " twice");
    EXPECT_EQ(refusal({1 - world.rank()}),
              "rank " + std::to_string(world.rank()) +
                  " makes a group in which it is not; only the members make it");
    check_sums(world, everyone(2));
  }));
}

// The last operation's messages may still be under way when a rank leaves.
TEST(World, LeavesInAnyOrder) {
  for (const Setting& setting :
       {Setting{4, "auto", 1}, Setting{4, "auto", 2}, Setting{3, "tcp", 1}})
    for (int round = 0; round < 20; ++round)
      expect_no_error(in_world(setting, [](Communicator& world) {
        std::vector<std::int64_t> values(1000, world.rank());
        world.broadcast(std::span{values}, world.size() - 1);
        EXPECT_EQ(values.back(), world.size() - 1);
      }));
}

}  // namespace
}  // namespace tutti::test
