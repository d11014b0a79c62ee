// Errors name what the user called, and who differs, also when that rank has left.
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include <tutti/cereal.hpp>
#include <tutti/objects.hpp>
#include <tutti/training.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

const std::vector<Setting> kNamedSettings{{3, "shm", 1}, {3, "tcp", 3}, {3, "auto", 2}};

class Named : public ::testing::TestWithParam<Setting> {};

/// @return the ranks' error if the last one calls something else.
std::string told_where_last_differs(const Setting& setting,
                                    const std::function<void(Communicator&)>& usual,
                                    const std::function<void(Communicator&)>& odd) {
  std::string text;
  for (const Outcome& outcome : in_world(setting, [&](Communicator& world) {
         (world.rank() == setting.n - 1 ? odd : usual)(world);
       })) {
    EXPECT_EQ(outcome.error ? outcome.error->culprit() : -1, setting.n - 1) << outcome.text();
    text = outcome.text();
  }
  return text;
}

TEST_P(Named, AsTheyWereCalled) {
  const auto reduce = [](Communicator& world) { static_cast<void>(world.all_reduce(1.5)); };
  const auto expect_in = [&](const char* name, const std::function<void(Communicator&)>& call) {
    const std::string text = told_where_last_differs(GetParam(), call, reduce);
    EXPECT_NE(text.find(std::string{"is "} + name), std::string::npos) << text;
    EXPECT_NE(text.find("is all_reduce of 8 bytes"), std::string::npos) << text;
  };
  expect_in("split", [](Communicator& world) { static_cast<void>(world.split(0)); });
  expect_in("all_gatherv", [](Communicator& world) {
    const std::vector<int> own(3);
    static_cast<void>(world.all_gatherv(own));
  });
  expect_in("save_checkpoint", [](Communicator& world) {
    save_checkpoint(world, ::testing::TempDir() + "no_such_folder/checkpoint", {});
  });
  expect_in("all_gather of objects", [](Communicator& world) {
    static_cast<void>(objects(world).all_gather(std::string{"text"}));
  });
}

/// Calls of equal data, of which one is a part of a split.
TEST_P(Named, PartsDoNotMatchOtherCalls) {
  const std::string text = told_where_last_differs(
      GetParam(), [](Communicator& world) { static_cast<void>(world.split(0)); },
      [](Communicator& world) {
        const std::array<std::int32_t, 3> own{1, 0, 0};
        std::vector<std::int32_t> all(9);
        world.all_gather(own, all);
      });
  EXPECT_NE(text.find("is all_gather of 36 bytes"), std::string::npos) << text;
}

/// The others end before the one that differs has waited for one of them.
TEST_P(Named, AlsoWhenTheInnocentHaveLeft) {
  const Setting& setting = GetParam();
  const auto outcomes = in_world(setting, [&](Communicator& world) {
    std::vector<int> data(4);
    if (world.rank() < setting.n - 1) return world.broadcast(data, 0);
    std::this_thread::sleep_for(300ms);
    world.broadcast(data, 1);
  });
  const Outcome& odd = outcomes.back();
  ASSERT_TRUE(odd.error);
  EXPECT_EQ(odd.error->code(), ErrorCode::mismatch) << odd.text();
  EXPECT_EQ(odd.error->culprit(), setting.n - 1) << odd.text();
  EXPECT_NE(odd.text().find("root 1, by"), std::string::npos) << odd.text();
  EXPECT_NE(odd.text().find("root 0, by"), std::string::npos) << odd.text();
}

struct WrongCount {
  std::size_t right;
  std::size_t wrong;
  bool is_sent;  // else received
};

/// One count of one pair is wrong: the error names both ranks, and says what has to be equal.
TEST_P(Named, BothEndsOfACountThatIsWrong) {
  const int n = GetParam().n;
  for (const WrongCount& one :
       {WrongCount{2, 0, false}, WrongCount{2, 1, false}, WrongCount{2, 5, false},
        WrongCount{2, 0, true}, WrongCount{2, 5, true}, WrongCount{100'000, 0, false},
        WrongCount{100'000, 99'999, false}, WrongCount{100'000, 0, true}}) {
    const auto outcomes =
        in_world(GetParam(),
                 [&](Communicator& world) {
                   std::vector<std::size_t> sent(static_cast<std::size_t>(n), one.right);
                   std::vector<std::size_t> received = sent;
                   if (world.rank() == 1) (one.is_sent ? sent : received)[0] = one.wrong;
                   const auto total = [](const std::vector<std::size_t>& counts) {
                     return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
                   };
                   const std::vector<int> in(total(sent));
                   std::vector<int> out(total(received));
                   world.all_to_allv(in, sent, out, received);
                   for (int i = 0; i < 70; ++i) world.barrier();
                 },
                 30s, std::size_t{1} << 30, {.timeout = 2s});
    for (const Outcome& outcome : outcomes) {
      const std::string text = outcome.text();
      EXPECT_EQ(text.find("no majority"), std::string::npos) << text;
      EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
      EXPECT_NE(text.find("rank 0"), std::string::npos) << text;
      const bool is_explained = text.find("count") != std::string::npos ||
                                text.find("which is a cycle") != std::string::npos;
      EXPECT_TRUE(is_explained) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Named, ::testing::ValuesIn(kNamedSettings),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
