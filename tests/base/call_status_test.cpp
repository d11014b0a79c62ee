// The status of calls that ranks exchange.
#include <array>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/spi/call_status.hpp>

namespace tutti::v0 {
namespace {

using Memory = CallStatus::Memory;

constexpr std::uint64_t kKnown = CallCounter::kRemembered;

TEST(CallStatus, AreOfTheLastCalls) {
  CallCounter calls;
  EXPECT_EQ(calls.status_of(0).begun, 0U);
  EXPECT_EQ(calls.status_of(0).memory, Memory::none);
  EXPECT_EQ(calls.status_of(1).memory, Memory::none);
  for (std::uint64_t number = 1; number <= 200; ++number) calls.begin(number, 1000 + number);
  for (std::uint64_t number = 200 - kKnown + 1; number <= 200; ++number) {
    const CallStatus told = calls.status_of(number);
    EXPECT_EQ(told.state, CallStatus::State::there);
    EXPECT_EQ(told.begun, 200U);
    ASSERT_EQ(told.memory, Memory::known) << number;
    EXPECT_EQ(told.fingerprint, 1000 + number);
  }
  EXPECT_EQ(calls.status_of(0).fingerprint, 1200U) << "the latest";
  EXPECT_EQ(calls.status_of(200 - kKnown).memory, Memory::forgotten);
  EXPECT_EQ(calls.status_of(1).memory, Memory::forgotten);
  EXPECT_EQ(calls.status_of(201).memory, Memory::none);
}

TEST(CallStatus, OfATurnThatIsKeptAreUnknownUntilItsCallBegins) {
  CallCounter calls;
  calls.begin(1, 7);
  calls.begin(3, 9);
  EXPECT_EQ(calls.status_of(2).memory, Memory::none);
  calls.note(2, 8);
  EXPECT_EQ(calls.status_of(2).fingerprint, 8U);
  EXPECT_EQ(calls.status_of(0).fingerprint, 9U);
}

TEST(CallStatus, HaveWordsAsLongAsTheCallIsKnown) {
  CallCounter calls;
  calls.describe(7, "a barrier");
  calls.begin(1, 7);
  calls.forget(7);
  EXPECT_EQ(calls.status_of(1).words, "a barrier") << "it can still be asked for";
  for (std::uint64_t number = 2; number <= kKnown + 1; ++number) calls.begin(number, 8);
  calls.forget(9);
  calls.begin(kKnown + 2, 7);
  EXPECT_EQ(calls.status_of(kKnown + 2).words, "");
}

// Such as calls on memory that peers see and on other memory.
TEST(CallStatus, HaveWordsAsLongAsThereAreCallsOfThisFingerprint) {
  CallCounter calls;
  calls.describe(7, "a barrier");
  calls.describe(7, "a barrier");
  calls.forget(7);
  calls.begin(1, 7);
  EXPECT_EQ(calls.status_of(1).words, "a barrier");
  for (std::uint64_t number = 2; number <= kKnown + 1; ++number) calls.begin(number, 8);
  calls.forget(7);
  calls.begin(kKnown + 2, 7);
  EXPECT_EQ(calls.status_of(kKnown + 2).words, "");
}

TEST(CallStatus, SayWhatIsWaitedFor) {
  CallCounter calls;
  constexpr Duration kTime = std::chrono::seconds{3};
  const std::array waits{CallWait{.name = "reduce", .number = 4, .rank = 2, .time = kTime},
                         CallWait{.name = "recv", .tag = 5, .rank = 1}};
  calls.wait(waits, true);
  std::this_thread::sleep_for(std::chrono::milliseconds{150});
  const auto told = calls.status_of(0).waits;
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].call, "reduce #4");
  EXPECT_EQ(told[0].number, 4U);
  EXPECT_EQ(told[0].rank, 2);
  EXPECT_GE(told[0].time, kTime + std::chrono::milliseconds{150});
  EXPECT_EQ(told[1].call, "recv with tag 5");
  calls.wait(waits, false);
  EXPECT_EQ(calls.status_of(0).waits.size(), 2U);
  std::this_thread::sleep_for(std::chrono::milliseconds{150});
  EXPECT_EQ(calls.status_of(0).waits.size(), 0U) << "it only looked at them, long ago";
  calls.wait(waits, true);
  calls.advance();
  EXPECT_EQ(calls.status_of(0).waits.size(), 0U);
}

}  // namespace
}  // namespace tutti::v0
