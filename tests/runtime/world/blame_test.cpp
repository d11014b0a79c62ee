// Ranks that wait for each other, or call different things, all blame the same rank, and the right
// one.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 4;
const Setting kSettings[] = {{kRanks, "shm", 1}, {kRanks, "tcp", kRanks}, {kRanks, "auto", 2}};

std::string name_of_setting(const ::testing::TestParamInfo<Setting>& info) {
  return info.param.transports;
}

/// The error of a rank.
struct Told {
  ErrorCode code = ErrorCode::bug;
  Rank culprit = -2;
  std::string text{};
};

/// Runs a body on every rank, where it must fail. A rank may be absent until it has on another one.
/// @return the common error of all of them.
Told told_by(const Setting& setting,
             const std::function<void(Communicator&, std::atomic<bool>& has_failed)>& body) {
  std::vector<Told> told(static_cast<std::size_t>(setting.n));
  std::atomic<bool> has_failed{false};
  std::barrier connected{setting.n};
  expect_no_error(in_world(setting, [&](Communicator& world) {
    connected.arrive_and_wait();  // no deadline passes while another rank connects
    try {
      body(world, has_failed);
    } catch (const Error& error) {
      told[static_cast<std::size_t>(world.rank())] = {error.code(), error.culprit(), error.what()};
    }
    has_failed = true;
    has_failed.notify_all();
  }));
  for (const Told& one : told) EXPECT_EQ(one.text, told.front().text) << "not the same to all";
  return told.front();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_blamed(const Told& told, ErrorCode code, Rank culprit,
                   std::initializer_list<const char*> parts = {}) {
  EXPECT_EQ(told.code, code) << told.text;
  EXPECT_EQ(told.culprit, culprit) << told.text;
  for (const char* const part : parts)
    EXPECT_TRUE(contains(told.text, part)) << part << " is not in: " << told.text;
}

class Chain : public ::testing::TestWithParam<Setting> {};

// Rank 1 has the shortest deadline, and waits for rank 0 only.
TEST_P(Chain, OfRanksIsFollowedToItsEnd) {
  const Told told = told_by(GetParam(), [](Communicator& world, auto& has_failed) {
    std::array<int, 2> in{}, out{};
    if (world.rank() == 2) has_failed.wait(false);
    const Options patient{.algorithm = "direct", .timeout = kAmple};
    world.reduce(std::span<const int>{in}, std::span{out}, sum, 0, patient);
    world.broadcast(std::span{in}, 0, {.timeout = world.rank() == 1 ? 500ms : Duration{kAmple}});
    world.barrier();
  });
  expect_blamed(told, ErrorCode::timeout, 2,
                {"rank 1 waits for rank 0 (broadcast #2), rank 0 waits for rank 2 (reduce "
                 "#1), rank 2 has not entered reduce #1 for "});
}

TEST_P(Chain, ThroughMessagesOfTwoIsFollowed) {
  const Told told = told_by(GetParam(), [](Communicator& world, auto& has_failed) {
    std::array<int, 1> data{};
    if (world.rank() == 0) world.recv(std::span{data}, 1, 7, {.timeout = 500ms});
    if (world.rank() == 1) world.recv(std::span{data}, 3, 8, {.timeout = kAmple});
    if (world.rank() == 2) has_failed.wait(false);
    world.barrier({.timeout = kAmple});
  });
  expect_blamed(told, ErrorCode::timeout, 2,
                {"rank 0 waits for rank 1 (recv with tag 7), rank 1 waits for "
                 "rank 3 (recv with tag 8), rank 3 waits for rank ",
                 "rank 2 has not entered barrier #1 for "});
}

// Rank 0 has two calls under way, and is awaited in the one that it is not looking at.
TEST_P(Chain, GoesOnInTheCallThatIsAwaited) {
  const Told told = told_by(GetParam(), [](Communicator& world, auto& has_failed) {
    std::array<int, 1> data{}, other{};
    if (world.rank() == 2) has_failed.wait(false);
    Request first = world.async().broadcast(
        std::span{data}, 2,
        {.algorithm = "chain", .timeout = world.rank() == 0 ? 500ms : Duration{kAmple}});
    if (world.rank() == 3) world.recv(std::span{other}, 1, 0, {.timeout = kAmple});
    first.wait();
    world.barrier();
  });
  expect_blamed(told, ErrorCode::timeout, 2,
                {"rank 0 waits for rank 3 (broadcast #1), rank 3 waits for rank 2 "
                 "(broadcast #1), rank 2 has not entered broadcast #1 for "});
}

TEST_P(Chain, MayBeACycle) {
  const Told told = told_by(GetParam(), [](Communicator& world, auto& /*has_failed*/) {
    std::array<int, 1> data{};
    const Rank next = (world.rank() + 1) % world.size();
    world.recv(std::span{data}, next, 5, {.timeout = world.rank() == 2 ? 500ms : Duration{kAmple}});
  });
  expect_blamed(told, ErrorCode::timeout, -1,
                {"rank 2 waits for rank 3 (recv with tag 5), rank 3 waits for rank 0 (recv "
                 "with tag 5), rank 0 waits for rank 1 (recv with tag 5), rank 1 waits for "
                 "rank 2 (recv with tag 5), which is a cycle"});
}

// Ranks 0 and 1 wait for each other as roots, rank 2 for rank 1 in the next call.
TEST_P(Chain, ThatComesOfDifferentCallsNamesTheOddRank) {
  const Told told = told_by(GetParam(), [](Communicator& world, auto& /*has_failed*/) {
    std::array<int, 1> in{}, out{};
    const Options flat{.algorithm = "direct", .timeout = kAmple};
    world.reduce(std::span<const int>{in}, std::span{out}, sum, world.rank() == 0 ? 0 : 1, flat);
    world.barrier({.timeout = world.rank() == 2 ? 500ms : Duration{kAmple}});
  });
  expect_blamed(told, ErrorCode::mismatch, 0, {"rank 0 runs another call: its call #1 is reduce"});
}

INSTANTIATE_TEST_SUITE_P(Over, Chain, ::testing::ValuesIn(kSettings), name_of_setting);

/// The odd rank's call and those that follow.
struct Difference {
  const char* name;
  void (*run)(Communicator& ranks, bool is_odd, Rank odd);
  std::array<const char*, 2> said;  ///< The names of the odd rank's call, and of the others'.
};

std::ostream& operator<<(std::ostream& out, const Difference& difference) {
  return out << difference.name;
}

constexpr std::size_t kCount = 40;
using Floats = std::array<float, kCount * kRanks>;

Rank usual_root(Rank odd) {
  return odd == 0 ? 1 : 0;
}
void other_root(Communicator& ranks, bool is_odd, Rank odd) {
  Floats data{};
  ranks.broadcast(std::span{data}, is_odd ? odd : usual_root(odd));
}
void other_root_of_scatter(Communicator& ranks, bool is_odd, Rank odd) {
  Floats all{}, own{};
  ranks.scatter(std::span<const float>{all}, std::span{own}.first(kCount),
                is_odd ? odd : usual_root(odd));
}
void no_elements(Communicator& ranks, bool is_odd, Rank /*odd*/) {
  Floats data{};
  ranks.all_reduce(std::span{data}.first(is_odd ? 0 : kCount));
}
void no_elements_of_broadcast(Communicator& ranks, bool is_odd, Rank odd) {
  Floats data{};
  ranks.broadcast(std::span{data}.first(is_odd ? 0 : kCount), usual_root(odd));
}
// Nobody who waits for the odd rank in the first call gets a message of its second one.
void no_elements_unseen(Communicator& ranks, bool is_odd, Rank /*odd*/) {
  Floats data{};
  ranks.all_reduce(std::span{data}.first(is_odd ? 0 : kCount), sum, {.algorithm = "dual_root"});
  ranks.barrier({.algorithm = "dissemination:k=2"});
}
void one_call_more(Communicator& ranks, bool is_odd, Rank odd) {
  Floats data{};
  if (is_odd) ranks.broadcast(std::span{data}, odd);
  ranks.all_reduce(std::span{data});
}
void other_algorithm(Communicator& ranks, bool is_odd, Rank /*odd*/) {
  Floats data{};
  ranks.all_reduce(std::span{data}, sum, {.algorithm = is_odd ? "ring" : "recursive_doubling"});
}
void other_segments(Communicator& ranks, bool is_odd, Rank /*odd*/) {
  Floats data{};
  const std::size_t segment = is_odd ? 160 : 320;
  ranks.all_reduce(std::span{data}, sum, {.algorithm = "ring", .segment = segment});
}
void other_determinism(Communicator& ranks, bool is_odd, Rank /*odd*/) {
  Floats data{};
  ranks.all_reduce(std::span{data}, sum,
                   {.determinism = is_odd ? Determinism::layout_invariant : Determinism::fast});
}
void other_counts(Communicator& ranks, bool is_odd, Rank /*odd*/) {
  Floats all{}, own{};
  const std::array<std::size_t, kRanks> usual{1, 2, 3, 4}, other{1, 2, 4, 3};
  const Counts counts{is_odd ? other : usual};
  ranks.all_gather(
      std::span<const float>{own}.first(counts[static_cast<std::size_t>(ranks.rank())]),
      std::span{all}.first(10), {.counts = counts});
}

constexpr Difference kDifferences[] = {
    {"root", other_root, {"root 3", "root 0"}},
    {"root_of_scatter", other_root_of_scatter, {"root 3", "root 0"}},
    {"no_elements",
     no_elements,
     {"all_reduce of 0 bytes of f32", "all_reduce of 160 bytes of f32"}},
    {"no_elements_of_broadcast", no_elements_of_broadcast, {"of 0 bytes", "of 160 bytes"}},
    {"no_elements_unseen", no_elements_unseen, {"of 0 bytes", "of 160 bytes"}},
    {"one_call_more", one_call_more, {"broadcast of 640 bytes", "all_reduce of 640 bytes"}},
    {"algorithm", other_algorithm, {"by ring", "by recursive_doubling"}},
    {"segments", other_segments, {"in 4 segments", "in 2 segments"}},
    {"counts", other_counts, {"4 counts 1 2 4 3", "4 counts 1 2 3 4"}}};

class Blame : public ::testing::TestWithParam<std::tuple<Setting, Difference>> {};

std::string name_of_blame(const ::testing::TestParamInfo<Blame::ParamType>& info) {
  return std::get<Setting>(info.param).transports + "_" + std::get<Difference>(info.param).name;
}

/// @return the error of a rank in a call or the barriers that follow.
Told run(Communicator& ranks, const Difference& difference, Rank odd) {
  try {
    difference.run(ranks, ranks.rank() == odd, odd);
    for (int i = 0; i < 2; ++i) ranks.barrier();
  } catch (const Error& error) {
    return {error.code(), error.culprit(), error.what()};
  }
  return {};
}

void check_blame(const std::array<Told, kRanks>& told, Rank odd, const Difference& difference) {
  const Told& first = told.front();
  for (const Told& one : told) EXPECT_EQ(one.text, first.text) << "not the same to all";
  EXPECT_EQ(first.code, ErrorCode::mismatch) << first.text;
  EXPECT_EQ(first.culprit, odd) << first.text;
  EXPECT_FALSE(contains(first.text, "0x")) << first.text;
  if (odd < kRanks - 1) return;
  for (const char* const said : difference.said)
    EXPECT_TRUE(contains(first.text, said)) << said << " is not in: " << first.text;
}

// Every time, though it depends on the moment who meets whose message.
TEST_P(Blame, FallsOnTheRankWhoseCallIsNotThatOfMost) {
  const auto& [setting, difference] = GetParam();
  std::barrier together{kRanks};
  std::array<Told, kRanks> told{};
  const auto body = [&, &difference = difference](Communicator& world) {
    for (int trial = 0; trial < 12; ++trial) {
      const Rank odd = kRanks - 1 - trial % kRanks;
      Communicator ranks = world.group(everyone(kRanks));
      told[static_cast<std::size_t>(world.rank())] = run(ranks, difference, odd);
      together.arrive_and_wait();
      if (world.rank() == 0) check_blame(told, odd, difference);
      together.arrive_and_wait();
    }
  };
  expect_no_error(in_world(setting, body));
}

INSTANTIATE_TEST_SUITE_P(Over, Blame,
                         ::testing::Combine(::testing::ValuesIn(kSettings),
                                            ::testing::ValuesIn(kDifferences)),
                         name_of_blame);
// Over others the choice is the same at all levels.
INSTANTIATE_TEST_SUITE_P(
    OfLevels, Blame,
    ::testing::Combine(::testing::Values(kSettings[0]),
                       ::testing::Values(Difference{
                           "determinism", other_determinism, {"layout_invariant", "by one_shot"}})),
    name_of_blame);

TEST(Blames, FallOnNobodyWhereThereIsNoMajority) {
  for (const int n : {2, 4}) {
    const Told told = told_by({n, "tcp", n}, [](Communicator& world, auto& /*has_failed*/) {
      std::array<float, 9> data{};
      world.all_reduce(std::span{data}, world.rank() % 2 == 0 ? sum : max);
    });
    expect_blamed(told, ErrorCode::mismatch, -1,
                  {"call #1 is all_reduce of 36 bytes of f32, sum", "f32, max",
                   n == 2 ? " on rank 0, " : " on ranks 0 and 2, ",
                   n == 2 ? " on rank 1" : " on ranks 1 and 3"});
  }
}

// It was a root, and waited for no rank.
TEST(Blames, FallOnARankThatHasGoneOnFarTooFar) {
  const Told told = told_by({4, "tcp", 4}, [](Communicator& world, auto& /*has_failed*/) {
    std::array<float, 1> data{};
    if (world.rank() != 2) std::this_thread::sleep_for(100ms);
    for (int i = 0; i < 200; ++i) world.broadcast(std::span{data}, world.rank() == 2 ? 2 : 0);
    world.barrier();
  });
  expect_blamed(told, ErrorCode::mismatch, 2);
}

// Nobody can say who is wrong, but which call it is.
TEST(Blames, NameTheCallOfAMessageThatNobodyWaitsFor) {
  for (const Setting& setting : {Setting{3, "shm", 1}, Setting{3, "tcp", 3}}) {
    const Told told = told_by(setting, [](Communicator& world, auto& /*has_failed*/) {
      std::array<float, 4> in{}, out{};
      std::array<std::size_t, 3> from{}, to{};
      if (world.rank() == 0) to[2] = 4;
      world.barrier();
      world.all_to_allv(std::span<const float>{in}.first(world.rank() == 0 ? 4 : 0), to,
                        std::span{out}.first(0), from);
      world.barrier();
      world.barrier();
    });
    expect_blamed(told, ErrorCode::mismatch, 0,
                  {"rank 2 got a message of rank 0's call #2 that its own does "
                   "not wait for, although both are all_to_all of counts of each "
                   "rank's own of f32"});
  }
}

// The roots' messages arrived before those that the barrier awaits.
TEST(Blames, OfRootsEndTheNextBarrier) {
  for (const Setting& setting : {Setting{2, "shm", 1}, Setting{2, "tcp", 2}}) {
    std::barrier together{2};
    std::atomic<int> noticed{0};
    const auto body = [&](Communicator& world) {
      for (int trial = 0; trial < 30; ++trial) {
        Communicator ranks = world.group(everyone(2));
        std::array<float, 9> data{};
        ranks.barrier();
        const Result<void> sent = ranks.try_().broadcast(std::span{data}, ranks.rank());
        together.arrive_and_wait();
        if (!sent || !ranks.try_().barrier()) noticed |= 1 << trial;
        together.arrive_and_wait();
      }
    };
    expect_no_error(in_world(setting, body));
    EXPECT_EQ(noticed, (1 << 30) - 1) << setting;
  }
}

}  // namespace
}  // namespace tutti::test
