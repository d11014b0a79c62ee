// Control under abuse: peers that send invalid data, flood or do not read, and many lives in any
// order.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/control/call_report.hpp"
#include "runtime/control/control_message.hpp"
#include "runtime/control/control_peer.hpp"
#include "tests/runtime/control/control_group.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

int running_threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/task"})
    ++count;
  return count;
}

void say(const ControlGroup& group, Rank rank, Rank peer, const std::string& bytes) {
  EXPECT_EQ(send(group.socket(rank, peer), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

class Liars : public ::testing::Test {
 protected:
  /// Rank 2 says this to rank 0.
  void expect_refused(const std::string& bytes,
                      const std::string& why = "violated the control protocol") {
    ControlGroup group{{.size = 3, .impersonated = 2}};
    const auto all = group.watch(1, {0, 1, 2});
    const auto honest = group.watch(2, {1, 0});
    say(group, 2, 0, bytes);
    if (why == "has ended") group.kill(2);
    const auto error = heard(*all[0]);
    ASSERT_TRUE(error);
    EXPECT_NE(std::string{error->what()}.find("rank 2 (host c) " + why), std::string::npos)
        << error->what();
    EXPECT_EQ(error->culprit(), 2);
    std::this_thread::sleep_for(kQuiet / 3);
    EXPECT_FALSE(honest[0]->is_raised() || honest[1]->is_raised());
    honest[1]->raise({ErrorCode::timeout, "the others go on"});
    EXPECT_TRUE(heard(*honest[0]));
  }
  /// @return a failure's bytes with some of them changed.
  static std::string changed(std::size_t at, std::uint32_t value) {
    std::string bytes = encode({.kind = ControlMessage::MessageType::failure,
                                .communicator = 1,
                                .code = ErrorCode::timeout,
                                .culprit = 0,
                                .origin = 2,
                                .text = "it took too long"});
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  }
};

// An answer is looked at only where its question waits.
TEST_F(Liars, AreRefusedWhenTheyAnswer) {
  const std::string good = encode_call_report({.state = CallStatus::State::there, .waits = {{}}});
  const std::string bad[] = {"", good.substr(0, good.size() - 1), good + 'x',
                             std::string(good.size(), '\xff')};
  for (const std::string& text : bad) {
    ControlGroup group{{.size = 3, .impersonated = 2}};
    const auto all = group.watch(1, {0, 1, 2});
    std::thread liar{[&] {
      std::array<char, 4096> asked{};
      EXPECT_GT(recv(group.socket(2, 0), asked.data(), asked.size(), 0), 0);
      say(group, 2, 0,
          encode({.kind = ControlMessage::MessageType::reply, .communicator = 1, .text = text}));
    }};
    const auto found = group[0].inquire(1, std::array{2}, 1, kAmple);
    liar.join();
    EXPECT_EQ(found.at(0).state, CallStatus::State::dead);
    const auto error = heard(*all[0]);
    ASSERT_TRUE(error);
    EXPECT_NE(std::string{error->what()}.find("violated the control protocol"), std::string::npos);
  }
}

TEST_F(Liars, AreRefused) {
  expect_refused(std::string(64, 'x'));
  expect_refused(changed(0, 0));          // magic
  expect_refused(changed(4, 0));          // kind
  expect_refused(changed(4, 99));         // kind
  expect_refused(changed(16, 99));        // code
  expect_refused(changed(20, 3));         // culprit beyond the communicator
  expect_refused(changed(20, 0 - 2U));    // culprit below none
  expect_refused(changed(24, 1U << 20));  // length of the text
  expect_refused(changed(28, 3));         // origin beyond the communicator
  expect_refused(changed(28, 0 - 1U));    // no origin
}

TEST_F(Liars, AreRefusedInCommunicatorsOfOthers) {
  expect_refused(
      encode({.kind = ControlMessage::MessageType::failure, .communicator = 2, .origin = 0}));
}

TEST_F(Liars, MayBreakOffInAMessage) {
  expect_refused(changed(24, 16).substr(0, 40), "has ended");
}

// A peer that ends with unread data resets the connection.
TEST(ControlPeer, TakesAResetForAnEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  ControlPeer peer{{.rank = 1, .host = "b", .is_local = true, .socket = Descriptor{ends[0]}},
                   Clock::now()};
  EXPECT_EQ(send(ends[0], "unread", 6, MSG_NOSIGNAL), 6);
  close(ends[1]);
  EXPECT_EQ(peer.read(), ControlPeer::ReadResult::end);
  EXPECT_EQ(peer.cause(), "has ended");
}

TEST(ControlPeer, SaysWhyItCannotBeReached) {
  ControlPeer peer{{.rank = 1,
                    .host = "b",
                    .is_local = false,
                    .socket = Descriptor{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}},
                   Clock::now()};
  EXPECT_EQ(peer.read(), ControlPeer::ReadResult::end);
  EXPECT_EQ(peer.cause(), std::string{"cannot be reached: "} + std::strerror(ENOTCONN));
}

TEST(Control, ReadsMessagesInAnyFragments) {
  ControlGroup group{{.size = 2, .impersonated = 1}};
  const auto alarms = group.watch(5, {0, 1});
  const std::string bytes = encode({.kind = ControlMessage::MessageType::heartbeat}) +
                            encode({.kind = ControlMessage::MessageType::failure,
                                    .communicator = 5,
                                    .code = ErrorCode::mismatch,
                                    .culprit = 0,
                                    .origin = 1,
                                    .text = "byte by byte"});
  for (const char byte : bytes) {
    EXPECT_FALSE(alarms[0]->is_raised());
    say(group, 1, 0, std::string(1, byte));
  }
  EXPECT_EQ(heard(*alarms[0])->cause(), ErrorCode::mismatch);
}

TEST(Control, BoundsWhatComesBeforeTheCommunicator) {
  ControlGroup group{{.size = 2, .impersonated = 1}};
  const long before = resident_kib();
  ControlMessage message{.kind = ControlMessage::MessageType::failure,
                         .code = ErrorCode::timeout,
                         .culprit = 1,
                         .origin = 1,
                         .text = std::string(kMostControlText, 'x')};
  for (message.communicator = 1; message.communicator <= 20000; ++message.communicator)
    say(group, 1, 0, encode(message));
  const auto failure_signal = group[0].watch(message.communicator - 1, {0, 1});
  EXPECT_TRUE(heard(*failure_signal));
  EXPECT_LT(resident_kib() - before, 8192);
}

TEST(Control, WaitsForNobodyWhoDoesNotListen) {
  ControlGroup group{{.size = 3, .impersonated = 2}};
  const long before = resident_kib();
  const auto other = group.watch(1, {0, 1});
  const std::string text(kMostControlText, 'x');
  for (std::uint64_t id = 2; id < 5000; ++id) {
    const auto failure_signal = group[0].watch(id, {0, 2});
    const auto start = Clock::now();
    failure_signal->raise({ErrorCode::timeout, text, 1});
    EXPECT_LT(Clock::now() - start, kLongBefore);
  }
  EXPECT_LT(resident_kib() - before, 8192);
  const auto error = heard(*group[0].watch(9999, {0, 2}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::peer_dead);
  EXPECT_FALSE(other[0]->is_raised());
  const auto start = Clock::now();
  group.leave(0);
  EXPECT_LT(Clock::now() - start, kLongBefore);
}

TEST(Control, HearsADeathBesideAFlood) {
  ControlGroup group{{.size = 3, .impersonated = 1}};
  const auto alarms = group.watch(1, {0, 2});
  std::atomic<bool> over{false};
  std::thread flood{[&] {
    const std::string beat = encode({.kind = ControlMessage::MessageType::heartbeat});
    std::string many;
    for (int i = 0; i < 1000; ++i) many += beat;
    while (!over) send(group.socket(1, 0), many.data(), many.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }};
  std::this_thread::sleep_for(kQuiet);
  group.kill(2);
  EXPECT_TRUE(heard(*alarms[0]));
  over = true;
  flood.join();
}

TEST(Control, WatchesManyCommunicators) {
  ControlGroup group{{.size = 3}};
  std::vector<std::vector<std::shared_ptr<FailureSignal>>> alarms;
  for (std::uint64_t id = 1; id <= 300; ++id)
    alarms.push_back(group.watch(id, id % 2 == 0 ? std::vector{0, 1, 2} : std::vector{1, 0}));
  alarms[150][0]->raise({ErrorCode::timeout, "only this one", 0});
  ASSERT_TRUE(heard(*alarms[150][1]));
  group.kill(2);
  for (std::size_t i = 0; i < alarms.size(); ++i) {
    const bool has_2 = i % 2 == 1;
    for (const std::size_t rank : {0U, 1U}) {
      if (has_2) EXPECT_TRUE(heard(*alarms[i][rank])) << i;
      else EXPECT_EQ(alarms[i][rank]->is_raised(), i == 150) << i;
    }
  }
}

TEST(Control, ForgetsCommunicatorsThatAreGone) {
  ControlGroup group{{.size = 2}};
  static_cast<void>(group.watch(1, {0, 1}));
  const long before = resident_kib();
  for (std::uint64_t id = 2; id < 20000; ++id) static_cast<void>(group.watch(id, {0, 1}));
  EXPECT_LT(resident_kib() - before, 4096);
}

TEST(Control, MayEndBeforeItsAlarms) {
  ControlGroup group{{.size = 2}};
  const auto alarms = group.watch(1, {0, 1});
  group.leave(0);
  group.leave(1);
  const auto error = heard(*alarms[0]);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::aborted);
  alarms[1]->raise({ErrorCode::timeout, "nobody is left to be told"});
}

TEST(Control, ComesAndGoesAThousandTimes) {
  const auto once = [] {
    ControlGroup group{{.size = 3, .remote = true}};
    const auto alarms = group.watch(1, {0, 1, 2});
    alarms[1]->raise({ErrorCode::timeout, "each time"});
  };
  once();
  const int descriptors = open_descriptors();
  const int threads = running_threads();
  const long resident = resident_kib();
  for (int i = 0; i < 1000 / 3; ++i) once();
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(running_threads(), threads);
  EXPECT_LT(resident_kib() - resident, 2048);
}

// The first rank may have forgotten a communicator by then, so its verdict is not waited for
// without end.
TEST(Control, ServesManyThreads) {
  ControlGroup group{{.size = 3, .heartbeat = {}}};
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 3; ++rank)
    for (std::uint64_t thread = 0; thread < 2; ++thread)
      threads.emplace_back([&group, rank, thread] {
        for (std::uint64_t round = 0; round < 100; ++round) {
          const auto failure_signal = group[rank].watch(round * 2 + thread + 1, {0, 1, 2});
          if (round % 3 == static_cast<std::uint64_t>(rank))
            failure_signal->raise({ErrorCode::timeout, "of many", rank});
          else if (round % 16 == 0) EXPECT_TRUE(heard(*failure_signal));
          else static_cast<void>(text_of(*failure_signal));
        }
      });
  std::this_thread::sleep_for(20ms);
  for (std::thread& thread : threads) thread.join();
  group.kill(1);
  EXPECT_TRUE(heard(*group[0].watch(5000, {0, 1, 2})));
}

}  // namespace
}  // namespace tutti::test
