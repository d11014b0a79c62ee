// The store and ranks that do not belong to the job: only the intruder gets an error.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/intruders.hpp"
#include "tests/runtime/meeting.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using runtime::has_cryptography;
using runtime::open_store;
using runtime::StoreOptions;

/// A rank that does not belong to the job, and its error.
struct Intruder {
  const char* name;
  std::function<void(StoreOptions&)> change;
  const char* told;
};

class StoreWith : public ::testing::TestWithParam<Intruder> {};

TEST_P(StoreWith, TellsTheIntruderAndNobodyElse) {
  const bool about_secrets = std::string_view{GetParam().name}.ends_with("Secret");
  if (about_secrets && !has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  const int before = open_descriptors();
  Meeting meeting{3};
  std::promise<void> refused;
  const auto outcomes = run_ranks(4, [&](Rank thread) {
    if (thread == 3) {  // comes as rank 2, before rank 2
      StoreOptions options = meeting.options(2);
      GetParam().change(options);
      try {
        talk(*open_store(options, in(kAmple)), kAmple);
      } catch (...) {
        refused.set_value();
        throw;
      }
      refused.set_value();
      return;
    }
    if (thread == 2) refused.get_future().wait();
    talk(*open_store(meeting.options(thread), in(kAmple)));
  });
  ASSERT_TRUE(outcomes[3].error);
  EXPECT_EQ(outcomes[3].error->code(), ErrorCode::mismatch);
  EXPECT_NE(outcomes[3].text().find(GetParam().told), std::string::npos) << outcomes[3].text();
  EXPECT_LT(outcomes[3].elapsed, kLongBefore);
  for (const Rank rank : {0, 1, 2})
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].text(), "") << rank;
  EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Intruders, StoreWith,
    ::testing::Values(
        Intruder{"Secret", [](StoreOptions& o) { o.secret = secret_of(2); }, "wrong secret"},
        Intruder{"NoSecret", [](StoreOptions& o) { o.secret.reset(); },
                 "wrong secret, only one of them has one"},
        Intruder{"Job", [](StoreOptions& o) { o.job = 8; }, "job 8, but rank 0 at tcp"},
        Intruder{"Size", [](StoreOptions& o) { o.size = 5; }, "counts 5 ranks, but rank 0 at tcp"},
        Intruder{"Version",
                 [](StoreOptions& o) {
                   o.versions = {2, 3};
                 },
                 "uses versions 2 to 3 of tutti's protocol, but rank 0 at tcp"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Store, TakesOneOfTwoThatClaimARank) {
  Meeting meeting{3};
  std::promise<void> refused;
  const auto outcomes = run_ranks(4, [&](Rank thread) {
    if (thread == 3) refused.get_future().wait();
    try {
      talk(*open_store(meeting.options(thread == 3 ? 2 : std::min(thread, 1)), in(kAmple)));
    } catch (...) {
      refused.set_value();
      throw;
    }
  });
  const bool first = outcomes[1].error.has_value();
  const Outcome& loser = outcomes[first ? 1 : 2];
  EXPECT_NE(loser.text().find("duplicate rank, another process connected as rank 1"),
            std::string::npos)
      << loser.text();
  EXPECT_LT(loser.elapsed, kLongBefore);
  EXPECT_EQ(outcomes[first ? 2 : 1].text(), "");
  EXPECT_EQ(outcomes[0].text(), "");
  EXPECT_EQ(outcomes[3].text(), "");
}

TEST(Store, CountsWhomItRefused) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  std::string text;
  EXPECT_TRUE(with_enough_time(700ms, [&text](milliseconds time) {
    Meeting meeting{2};
    const auto outcomes = run_ranks(2, [&](Rank rank) {
      StoreOptions options = meeting.options(rank);
      if (rank == 1) options.secret = secret_of(9);
      talk(*open_store(options, in(kAmple)), time);
    });
    text = outcomes[0].text();
    return text.find("; refused connections: 1 wrong secret") != std::string::npos;
  })) << text;
}

TEST(Store, IsNotDisturbedByStrangers) {
  Meeting meeting{3};
  std::atomic<bool> over{false};
  const auto outcomes = run_ranks(5, [&](Rank thread) {
    if (thread < 3) {
      if (thread == 2) std::this_thread::sleep_for(1s);
      const auto channel = open_store(meeting.options(thread), in(kAmple));
      talk(*channel, kAmple);
      over = true;
      return;
    }
    const std::uint16_t port = meeting.port();
    for (unsigned seed = static_cast<unsigned>(thread); !over; seed += 2)
      (void)disturb({port, {}}, seed);
  });
  for (const Rank rank : {0, 1, 2})
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].text(), "") << rank;
}

}  // namespace
}  // namespace tutti::test
