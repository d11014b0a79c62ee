// Failures as control reports them: the rank named, the text, and ends that are no failure.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "runtime/control/control_message.hpp"
#include "tests/runtime/control/control_group.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

void expect_same(const std::optional<Error>& one, const std::optional<Error>& other) {
  ASSERT_TRUE(one && other);
  EXPECT_STREQ(one->what(), other->what());
  EXPECT_EQ(one->code(), other->code());
  EXPECT_EQ(one->cause(), other->cause());
  EXPECT_EQ(one->culprit(), other->culprit());
}

TEST(Control, TellsEverySurvivorOfADeath) {
  ControlGroup group{{.size = 4}};
  const auto world = group.watch(1, {0, 1, 2, 3});
  const auto part = group.watch(2, {3, 1});
  const auto other = group.watch(3, {2, 0});
  group.kill(3);
  const auto error = heard(*world[0]);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::peer_dead);
  EXPECT_EQ(error->culprit(), 3);
  EXPECT_STREQ(error->what(), "rank 3 (host d) has ended");
  expect_same(error, heard(*world[1]));
  expect_same(error, heard(*world[2]));
  const auto of_part = heard(*part[1]);
  ASSERT_TRUE(of_part);
  EXPECT_EQ(of_part->culprit(), 0);  // as the communicator counts
  EXPECT_STREQ(of_part->what(), "rank 0 (rank 3 of the world, host d) has ended");
  std::this_thread::sleep_for(kQuiet);
  EXPECT_FALSE(other[0]->is_raised() || other[2]->is_raised());
}

TEST(Control, TellsTheOtherRanksWhatFailedHere) {
  ControlGroup group{{.size = 4}};
  const auto alarms = group.watch(1, {2, 0, 3, 1});
  alarms[2]->raise({ErrorCode::timeout, "it took too long", 3});
  const auto error = heard(*alarms[0]);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::timeout);
  EXPECT_EQ(error->cause(), ErrorCode::timeout);
  EXPECT_EQ(error->culprit(), 3);
  EXPECT_STREQ(error->what(), "rank 0 reports: it took too long");
  expect_same(error, heard(*alarms[1]));
  expect_same(error, heard(*alarms[2]));
  expect_same(error, heard(*alarms[3]));
}

TEST(Control, KeepsTheFirstCause) {
  ControlGroup group{{.size = 3}};
  const auto alarms = group.watch(1, {0, 1, 2});
  alarms[0]->raise({ErrorCode::mismatch, "first", 1});
  ASSERT_TRUE(heard(*alarms[1]) && heard(*alarms[2]));
  alarms[1]->raise({ErrorCode::bug, "second"});
  group.kill(2);
  std::this_thread::sleep_for(kQuiet);
  for (const std::size_t rank : {0U, 1U})
    EXPECT_EQ(text_of(*alarms[rank]), "rank 0 reports: first");
}

TEST(Control, TakesAGoodbyeForNoDeath) {
  ControlGroup group{{.size = 3}};
  const auto alarms = group.watch(1, {0, 1, 2});
  group.leave(1);
  std::this_thread::sleep_for(kQuiet);
  EXPECT_FALSE(alarms[0]->is_raised() || alarms[2]->is_raised());
  alarms[0]->raise({ErrorCode::timeout, "those that stay go on talking"});
  EXPECT_TRUE(heard(*alarms[2]));
}

TEST(Control, TellsBeforeItLeaves) {
  for (int trial = 0; trial < 20; ++trial) {
    ControlGroup group{{.size = 3}};
    const auto alarms = group.watch(1, {0, 1, 2});
    alarms[1]->raise({ErrorCode::mismatch, "it goes with a word", 0});
    group.leave(1);
    for (const std::size_t rank : {0U, 2U}) {
      const auto error = heard(*alarms[rank]);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->cause(), ErrorCode::mismatch);
      EXPECT_STREQ(error->what(), "rank 1 reports: it goes with a word");
    }
  }
}

// The poller that raised may end the process at once.
TEST(Control, TellsBeforeRaisingReturns) {
  ControlGroup group{{.size = 2, .impersonated = 1}};
  const auto alarms = group.watch(1, {0, 1});
  alarms[0]->raise({ErrorCode::mismatch, "no time to lose"});
  char byte = 0;
  EXPECT_EQ(recv(group.socket(1, 0), &byte, 1, MSG_DONTWAIT), 1);
}

TEST(Control, DoesNotTakeTheDeathOfWhoFailedForTheCause) {
  for (int trial = 0; trial < 50; ++trial) {
    ControlGroup group{{.size = 4}};
    const auto alarms = group.watch(1, {0, 1, 2, 3});
    alarms[1]->raise({ErrorCode::mismatch, "the cause", 0});
    group.kill(1);
    for (const std::size_t rank : {0U, 2U, 3U}) {
      const auto error = heard(*alarms[rank]);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->cause(), ErrorCode::mismatch) << error->what();
    }
  }
}

TEST(Control, NamesOneOfTwoThatDieAtOnce) {
  for (int trial = 0; trial < 50; ++trial) {
    ControlGroup group{{.size = 6}};
    const auto alarms = group.watch(1, {0, 1, 2, 3, 4, 5});
    const Rank first = trial % 2 == 0 ? 2 : 4;
    group.kill(first);
    group.kill(6 - first);
    const auto error = heard(*alarms[0]);
    ASSERT_TRUE(error);
    for (const std::size_t rank : {1U, 3U, 5U}) expect_same(error, heard(*alarms[rank]));
  }
}

TEST(Control, NamesOneOfTwoThatFailAtOnce) {
  for (int trial = 0; trial < 50; ++trial) {
    ControlGroup group{{.size = 6}};
    const auto alarms = group.watch(1, {0, 1, 2, 3, 4, 5});
    std::thread thread{[&] { alarms[1]->raise({ErrorCode::timeout, "late", 0}); }};
    alarms[4]->raise({ErrorCode::mismatch, "different", 0});
    thread.join();
    const auto error = heard(*alarms[0]);
    ASSERT_TRUE(error);
    for (const std::size_t rank : {1U, 2U, 3U, 4U, 5U}) expect_same(error, heard(*alarms[rank]));
  }
}

TEST(Control, TakesADeathForTheCauseOfASuspicion) {
  for (int trial = 0; trial < 50; ++trial) {
    ControlGroup group{{.size = 4}};
    const auto alarms = group.watch(1, {0, 1, 2, 3});
    group.kill(3);
    alarms[2]->raise({ErrorCode::peer_dead, "rank 1 is silent", 1});
    const auto error = heard(*alarms[0]);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->culprit(), 3) << error->what();
    for (const std::size_t rank : {1U, 2U}) expect_same(error, heard(*alarms[rank]));
  }
}

TEST(Control, FindsAgreementWithoutAWordOfTheFirst) {
  ControlGroup group{{.size = 3, .heartbeat = {}, .impersonated = 0}};
  const auto alarms = group.watch(1, {0, 1, 2});
  alarms[1]->raise({ErrorCode::timeout, "the first rank is stopped", 0});
  const auto error = heard(*alarms[1]);
  ASSERT_TRUE(error);
  // Without agreement it says its own text, when kAgreementPatience is over.
  EXPECT_STREQ(error->what(), "rank 1 reports: the first rank is stopped");
  expect_same(error, heard(*alarms[2]));
}

TEST(Control, RemembersWhatComesBeforeTheCommunicator) {
  ControlGroup group{{.size = 3}};
  const auto first = group[0].watch(7, {0, 1, 2});
  first->raise({ErrorCode::timeout, "too early for the others", 2});
  std::this_thread::sleep_for(kQuiet);
  const auto late = group[1].watch(7, {0, 1, 2});
  const auto error = heard(*late);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->culprit(), 2);
  EXPECT_EQ(error->cause(), ErrorCode::timeout);
  EXPECT_FALSE(heard(*group[1].watch(8, {0, 1, 2}), kQuiet));
}

TEST(Control, TellsACommunicatorThatIsMadeAfterADeath) {
  ControlGroup group{{.size = 3, .heartbeat = {}}};  // whose first rank does not make it
  group.kill(2);
  std::this_thread::sleep_for(kQuiet);
  const auto failure_signal = group[0].watch(1, {1, 2, 0});
  const auto error = heard(*failure_signal);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::peer_dead);
  EXPECT_EQ(error->culprit(), 1);
  EXPECT_FALSE(heard(*group[0].watch(2, {0, 1}), kQuiet));
}

TEST(Control, GivesUpARemoteRankThatIsSilent) {
  ControlGroup group{{.size = 3, .remote = true, .heartbeat = {20ms, 600ms}, .impersonated = 2}};
  const auto start = Clock::now();
  const auto alarms = group.watch(1, {0, 1, 2});
  const auto error = heard(*alarms[0]);
  ASSERT_TRUE(error);
  EXPECT_GE(Clock::now() - start, 590ms);
  EXPECT_EQ(error->code(), ErrorCode::peer_dead);
  EXPECT_EQ(error->culprit(), 2);
  EXPECT_STREQ(error->what(), "rank 2 (host c) has sent no message for 600 ms");
  expect_same(error, heard(*alarms[1]));
}

TEST(Control, TellsARankThatItWasGivenUp) {
  ControlGroup group{{.size = 2, .remote = true, .heartbeat = {10ms, 50ms}, .impersonated = 1}};
  const auto alarms = group.watch(1, {0, 1});
  ASSERT_TRUE(heard(*alarms[0]));
  timeval patience{.tv_sec = kAmple.count(), .tv_usec = 0};
  setsockopt(group.socket(1, 0), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string bytes;
  std::array<char, 4096> chunk{};
  for (ssize_t got = 1; got > 0;) {  // up to the end of the stream
    got = recv(group.socket(1, 0), chunk.data(), chunk.size(), 0);
    ASSERT_GE(got, 0) << "no end came";
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
  std::optional<ControlMessage> last;
  while (const auto message = decode(bytes)) last = message;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, ControlMessage::MessageType::failure);
  EXPECT_EQ(last->culprit, 1);
}

TEST(Control, HearsOfALossThatOnlyAnotherRankSees) {
  ControlGroup group{{.size = 3, .remote = true, .heartbeat = {10ms, 500ms}, .impersonated = 2}};
  const auto alarms = group.watch(1, {0, 1, 2});
  const std::string beat = encode({.kind = ControlMessage::MessageType::heartbeat});
  std::optional<Error> error;
  for (const Deadline end = in(kAmple); !error && Clock::now() < end;) {
    // Rank 2 reaches rank 1 alone.
    ASSERT_GT(send(group.socket(2, 1), beat.data(), beat.size(), MSG_NOSIGNAL), 0);
    error = heard(*alarms[1], 10ms);
  }
  expect_same(error, heard(*alarms[0]));
  EXPECT_EQ(error->culprit(), 2);
}

TEST(Control, LetsRanksOfTheOwnHostBeSilent) {
  ControlGroup group{{.size = 2, .heartbeat = {5ms, 20ms}, .impersonated = 1}};
  const auto alarms = group.watch(1, {0, 1});
  EXPECT_FALSE(heard(*alarms[0], 100ms));
}

TEST(Control, WaitsForNoAnswerOfTheDead) {
  ControlGroup group{{.size = 3, .impersonated = 2}};
  static_cast<void>(group.watch(1, {0, 1, 2}));
  for (const bool says_goodbye : {true, false}) {
    const Rank asker = says_goodbye ? 0 : 1;
    const auto start = Clock::now();
    std::thread end{[&] {
      std::this_thread::sleep_for(30ms);
      if (!says_goodbye) return group.kill(2);
      const std::string goodbye = encode({.kind = ControlMessage::MessageType::leave});
      EXPECT_GT(send(group.socket(2, asker), goodbye.data(), goodbye.size(), MSG_NOSIGNAL), 0);
    }};
    const auto report = group[asker].inquire(1, std::array{2}, 0, kAmple);
    ASSERT_EQ(report.size(), 1U);
    EXPECT_EQ(report[0].state, says_goodbye ? CallStatus::State::left : CallStatus::State::dead);
    EXPECT_LT(Clock::now() - start, kLongBefore);
    end.join();
  }
}

TEST(Control, HearsHeartbeats) {
  EXPECT_TRUE(with_enough_time(1000ms, [](milliseconds lost) {
    ControlGroup group{{.size = 3, .remote = true, .heartbeat = {20ms, lost}}};
    const auto alarms = group.watch(1, {0, 1, 2});
    return !heard(*alarms[0], lost * 3 / 2);
  }));
}

std::set<std::string> threads() {
  std::set<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/task"})
    all.insert(entry.path());
  return all;
}

/// @return the signals that a thread blocks, a bit each, from number 1.
std::uint64_t signals_blocked_by(const std::string& thread) {
  std::ifstream status{thread + "/status"};
  for (std::string word; status >> word;) {
    if (word != "SigBlk:") continue;
    std::uint64_t mask = 0;
    status >> std::hex >> mask;
    return mask;
  }
  return 0;
}

TEST(Control, LeavesSignalsToTheProgram) {
  const auto before = threads();
  sigset_t mask_before;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before);
  ControlGroup group{{.size = 2}};
  int ours = 0;
  for (const std::string& thread : threads()) {
    if (before.contains(thread)) continue;
    ++ours;
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGSEGV, SIGPIPE})
      EXPECT_TRUE(signals_blocked_by(thread) >> (signal - 1) & 1) << signal;
  }
  EXPECT_EQ(ours, 2);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1})
    EXPECT_EQ(sigismember(&mask, signal), sigismember(&mask_before, signal));
}

}  // namespace
}  // namespace tutti::test
