// Links: behaviour beyond the contract of every transport.
#include <array>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <gtest/gtest.h>

#include "backends/tcp/frame.hpp"
#include "backends/tcp/link.hpp"
#include "tests/conformance/loopback.hpp"
#include "tests/support/patience.hpp"

namespace tutti::tcp {
namespace {

using conformance::connect_fabrics;
using conformance::connected_pair;
using Bytes = std::vector<std::byte>;

std::unique_ptr<Transport> pair_transport(Fabric& fabric, std::uint64_t communicator = 1) {
  return fabric.transport(communicator, {0, 1}, std::make_shared<FailureSignal>());
}

void post(Transport& transport, Transfer::Kind kind, Rank peer, const Piece& piece) {
  const Transfer transfer{.kind = kind, .peer = peer, .pieces = std::span{&piece, 1}};
  transport.post(std::span{&transfer, 1});
}

/// Polls until something completes. @return the error that was thrown, if one was.
std::optional<Error> wait(Transport& transport) {
  std::array<Completion, 1> completions{};
  const auto deadline = std::chrono::steady_clock::now() + test::kAmple;
  try {
    while (transport.poll(completions) == 0)
      if (std::chrono::steady_clock::now() > deadline)
        return Error{ErrorCode::timeout, "nothing happened"};
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// A fabric of rank 0 whose peer, rank 1, is the test itself.
struct Alone {
  explicit Alone(const Options& options = {}) {
    const auto [own, other] = connected_pair();
    peer = other;
    fabric = std::make_shared<Fabric>(0, std::vector<Peer>{{1, own}}, options);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  ~Alone() {
    if (peer >= 0) close(peer);
  }
  void say(Header header, const Bytes& payload = {}) const {
    header.source = 1;
    seal(header);
    ASSERT_EQ(send(peer, &header, sizeof header, 0), ssize_t{sizeof header});
    ASSERT_EQ(send(peer, payload.data(), payload.size(), 0), static_cast<ssize_t>(payload.size()));
  }

  int peer = -1;
  std::shared_ptr<Fabric> fabric{};
};

TEST(Links, RefuseCorruptHeadersAndNameThePeer) {
  const Alone alone;
  const auto transport = pair_transport(*alone.fabric);
  Bytes in(8);
  const Piece piece{in.data(), in.size()};
  post(*transport, Transfer::Kind::recv, 1, piece);
  Header header{.communicator = 1, .source = 1, .length = 8};
  seal(header);
  header.tag ^= 1;
  ASSERT_EQ(send(alone.peer, &header, sizeof header, 0), ssize_t{sizeof header});
  const auto error = wait(*transport);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::transport);
  const std::string text = error->what();
  EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("checksum"), std::string::npos) << text;
}

TEST(Links, RefuseCorruptPayloads) {
  const Alone alone;
  const auto transport = pair_transport(*alone.fabric);
  Bytes in(8);
  const Piece piece{in.data(), in.size()};
  post(*transport, Transfer::Kind::recv, 1, piece);
  alone.say({.flags = kPayloadSummed, .payload_sum = 1, .communicator = 1, .length = 8}, Bytes(8));
  const auto error = wait(*transport);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::transport);
  EXPECT_NE(std::string{error->what()}.find("payload"), std::string::npos) << error->what();
}

TEST(Links, SumPayloadsWhereTheOptionSaysSo) {
  for (const bool summed : {false, true}) {
    const Alone alone{{.payload_checksum = summed}};
    const auto transport = pair_transport(*alone.fabric);
    Bytes out(100, std::byte{1});
    const Piece piece{out.data(), out.size()};
    post(*transport, Transfer::Kind::send, 1, piece);
    Header header{};
    ASSERT_EQ(recv(alone.peer, &header, sizeof header, MSG_WAITALL), ssize_t{sizeof header});
    EXPECT_EQ(header.flags, summed ? kPayloadSummed : 0);
    EXPECT_EQ(header.payload_sum != 0, summed);
  }
}

// With TCP_USER_TIMEOUT the kernel gives up peers that live and have room for nothing: they
// compute.
TEST(Links, OutlastPeersThatAreBusyElsewhere) {
  const auto [own, other] = connected_pair();
  const Fabric first{0, {{1, own}}, {}};
  const Fabric second{1, {{0, other}}, {}};
  for (const int socket : {own, other}) {
    int milliseconds = -1;
    socklen_t length = sizeof milliseconds;
    ASSERT_EQ(getsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &length), 0);
    EXPECT_EQ(milliseconds, 0);
  }
}

TEST(Links, SleepUntilSomethingComes) {
  const Alone alone{{.oversubscribed = true, .idle_wait = test::kAmple}};
  const auto transport = pair_transport(*alone.fabric);
  const auto idle_wait = [&] {
    const auto begin = std::chrono::steady_clock::now();
    transport->idle_wait();
    return std::chrono::steady_clock::now() - begin;
  };
  EXPECT_LT(idle_wait(), test::kLongBefore);  // there is nothing to wait for
  Bytes in(8);
  const Piece piece{in.data(), in.size()};
  post(*transport, Transfer::Kind::recv, 1, piece);
  std::atomic<bool> has_said{false};
  std::thread peer{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    has_said = true;
    alone.say({.communicator = 1, .length = 8}, Bytes(8));
  }};
  const auto slept = idle_wait();
  EXPECT_TRUE(has_said) << "it did not sleep";
  peer.join();
  EXPECT_LT(slept, test::kLongBefore);
  EXPECT_FALSE(wait(*transport));
}

TEST(Links, ThatEndWithNothingPendingFailNobody) {
  auto fabrics = connect_fabrics(3, {});
  std::vector<std::unique_ptr<Transport>> transports{};
  for (const auto& fabric : fabrics)
    transports.push_back(fabric->transport(1, {0, 1, 2}, std::make_shared<FailureSignal>()));
  Bytes data(8);
  const Piece piece{data.data(), data.size()};
  post(*transports[2], Transfer::Kind::send, 0, piece);
  EXPECT_FALSE(wait(*transports[2]));
  transports[2].reset();
  fabrics[2].reset();
  // Its last message can still be had, and the others go on.
  post(*transports[0], Transfer::Kind::recv, 2, piece);
  EXPECT_FALSE(wait(*transports[0]));
  post(*transports[0], Transfer::Kind::send, 1, piece);
  post(*transports[1], Transfer::Kind::recv, 0, piece);
  EXPECT_FALSE(wait(*transports[0]));
  EXPECT_FALSE(wait(*transports[1]));
  post(*transports[0], Transfer::Kind::recv, 2, piece);
  const auto error = wait(*transports[0]);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::peer_dead);
  EXPECT_EQ(error->culprit(), 2);
}

// The frames that a lost link was about to send are used again, each for one message.
TEST(Links, ThatAreLostHarmNoOther) {
  const auto [to_lost, lost] = connected_pair();
  const auto [to_good, good] = connected_pair();
  const auto fabric =
      std::make_shared<Fabric>(0, std::vector<Peer>{{1, to_lost}, {2, to_good}}, Options{});
  const auto failing = fabric->transport(1, {0, 1}, std::make_shared<FailureSignal>());
  const auto working = fabric->transport(2, {0, 2}, std::make_shared<FailureSignal>());
  Bytes large(std::size_t{64} << 20);  // more than waits in a socket
  const Piece all{large.data(), large.size()};
  post(*failing, Transfer::Kind::send, 1, all);
  Header grant{.type = FrameType::grant, .communicator = 1, .source = 1};
  seal(grant);
  ASSERT_EQ(send(lost, &grant, sizeof grant, 0), ssize_t{sizeof grant});
  std::array<Completion, 1> none{};
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(failing->poll(none), 0u);
  close(lost);
  const auto error = wait(*failing);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::peer_dead) << error->what();
  std::array<Bytes, 4> words{};
  std::vector<Piece> pieces{};
  std::vector<Transfer> transfers{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].assign(100 + i, static_cast<std::byte>(i));
    pieces.push_back({words[i].data(), words[i].size()});
  }
  for (const Piece& piece : pieces)
    transfers.push_back({.kind = Transfer::Kind::send, .peer = 1, .pieces = std::span{&piece, 1}});
  working->post(transfers);
  for (const Bytes& word : words) {
    Header header{};
    ASSERT_EQ(recv(good, &header, sizeof header, MSG_WAITALL), ssize_t{sizeof header});
    ASSERT_EQ(header.length, word.size());
    Bytes in(word.size());
    ASSERT_EQ(recv(good, in.data(), in.size(), MSG_WAITALL), static_cast<ssize_t>(in.size()));
    EXPECT_EQ(in, word);
  }
  close(good);
}

TEST(Links, DeliverWhatWasSentBeforeTheyWereClosed) {
  for (int i = 0; i < 5; ++i) {
    auto fabrics = connect_fabrics(2, {.linger = std::chrono::milliseconds{100}});
    auto sender = pair_transport(*fabrics[0]);
    const auto receiver = pair_transport(*fabrics[1]);
    Bytes small(60000, std::byte{7});
    const Piece piece{small.data(), small.size()};
    // Something the sender never reads lies in its socket when it closes.
    post(*receiver, Transfer::Kind::send, 0, piece);
    for (int k = 0; k < 8; ++k) post(*sender, Transfer::Kind::send, 1, piece);
    for (int k = 0; k < 8; ++k) EXPECT_FALSE(wait(*sender));
    sender.reset();
    fabrics[0].reset();
    Bytes in(small.size());
    const Piece place{in.data(), in.size()};
    EXPECT_FALSE(wait(*receiver));  // its send
    for (int k = 0; k < 8; ++k) {
      post(*receiver, Transfer::Kind::recv, 0, place);
      const auto error = wait(*receiver);
      ASSERT_FALSE(error) << error->what();
      EXPECT_TRUE(in == small);
    }
  }
}

// The receiver gives credit back long after the sender has left. Were the sender's socket closed by
// then, the answer to the credit would be a reset, and whatever the receiver has yet to read lost.
TEST(Links, WaitForAReceiverThatComputesBeforeTheyAreClosed) {
  const auto [own, other] = connected_pair();
  const int little = 65536;  // so that most of it stays on the sender's side
  ASSERT_EQ(setsockopt(other, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
  auto leaver =
      std::make_shared<Fabric>(0, std::vector<Peer>{{1, own}}, Options{.linger = test::kAmple});
  const auto fabric = std::make_shared<Fabric>(1, std::vector<Peer>{{0, other}}, Options{});
  auto sender = pair_transport(*leaver);
  const auto receiver = pair_transport(*fabric);
  constexpr int kMessages = 16;
  Bytes small(61440, std::byte{7});
  const Piece piece{small.data(), small.size()};
  for (int k = 0; k < kMessages; ++k) post(*sender, Transfer::Kind::send, 1, piece);
  Bytes in(small.size());
  const Piece place{in.data(), in.size()};
  const auto receive = [&](int count) {
    for (int k = 0; k < count; ++k) {
      post(*receiver, Transfer::Kind::recv, 0, place);
      const auto error = wait(*receiver);
      ASSERT_FALSE(error) << error->what();
      EXPECT_TRUE(in == small);
    }
  };
  std::thread leaving{[&] {
    for (int k = 0; k < kMessages; ++k) EXPECT_FALSE(wait(*sender));
    sender.reset();
    leaver.reset();
  }};
  receive(kMessages / 2);
  std::this_thread::sleep_for(std::chrono::milliseconds{100});
  post(*receiver, Transfer::Kind::send, 0, piece);  // input is no reason to end
  EXPECT_FALSE(wait(*receiver));
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  receive(kMessages / 2);
  leaving.join();
}

// The rank owes nothing to the others, so it waits for none.
TEST(Links, LeaveAFailedCommunicatorInNoTime) {
  for (const bool here : {true, false}) {  // or on another rank
    auto fabrics = connect_fabrics(2, {.linger = test::kAmple});
    const auto failure_signal = std::make_shared<FailureSignal>();
    auto sender = fabrics[0]->transport(1, {0, 1}, failure_signal);
    Bytes small(61440);
    const Piece piece{small.data(), small.size()};
    for (int k = 0; k < 16; ++k) post(*sender, Transfer::Kind::send, 1, piece);
    const Error cause{ErrorCode::timeout, "too late", 1};
    if (here) sender->abort(cause);
    else failure_signal->set_cause(cause);
    sender.reset();
    const auto begin = std::chrono::steady_clock::now();
    fabrics[0].reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, test::kLongBefore);
  }
}

TEST(Links, DropFramesForCommunicatorsThatAreGone) {
  const auto fabrics = connect_fabrics(2, {});
  auto gone = pair_transport(*fabrics[1], 1);
  gone.reset();
  const auto sender = pair_transport(*fabrics[0], 1);
  Bytes data(100000);
  const Piece piece{data.data(), data.size()};
  const Piece front{data.data(), 100};
  post(*sender, Transfer::Kind::send, 1, front);
  post(*sender, Transfer::Kind::send, 1, piece);
  // Another communicator's reading meets them.
  const auto one = pair_transport(*fabrics[0], 2);
  const auto other = pair_transport(*fabrics[1], 2);
  post(*one, Transfer::Kind::send, 1, front);
  post(*other, Transfer::Kind::recv, 0, front);
  EXPECT_FALSE(wait(*other));
  EXPECT_GE(fabrics[1]->dropped(), 2U);
}

TEST(Links, RefuseWhatTheyCannotServe) {
  const auto fabrics = connect_fabrics(2, {});
  const auto failure_signal = std::make_shared<FailureSignal>();
  const auto first = fabrics[0]->transport(1, {0, 1}, failure_signal);
  EXPECT_THROW(static_cast<void>(fabrics[0]->transport(1, {0, 1}, failure_signal)), Error);
  EXPECT_THROW(static_cast<void>(fabrics[0]->transport(2, {0, -1}, failure_signal)), Error);
  EXPECT_THROW(static_cast<void>(fabrics[0]->transport(3, {0, 0}, failure_signal)), Error);
  EXPECT_THROW(static_cast<void>(fabrics[0]->transport(4, {1}, failure_signal)), Error);
  const std::size_t enough = 2 * (1000 + kMessageCost);
  EXPECT_NO_THROW(
      static_cast<void>(connect_fabrics(2, {.eager_bytes = 1000, .credit_bytes = enough})));
  EXPECT_THROW(
      static_cast<void>(connect_fabrics(2, {.eager_bytes = 1000, .credit_bytes = enough - 1})),
      Error);
  EXPECT_THROW(static_cast<void>(connect_fabrics(2, {.fragment_bytes = 0})), Error);
}

// Another transport may reach that rank.
TEST(Links, MayLackAMemberUntilItIsSpokenTo) {
  const auto fabrics = connect_fabrics(2, {});
  const auto transport = fabrics[0]->transport(1, {0, 5}, std::make_shared<FailureSignal>());
  std::array<std::byte, 8> data{};
  const Piece piece{data.data(), data.size()};
  EXPECT_THROW(post(*transport, Transfer::Kind::send, 1, piece), Error);
}

TEST(Links, RaiseTheAlarmOfAnAbortedCommunicator) {
  const auto fabrics = connect_fabrics(2, {});
  const auto failure_signal = std::make_shared<FailureSignal>();
  const auto transport = fabrics[0]->transport(1, {0, 1}, failure_signal);
  transport->abort({ErrorCode::timeout, "too late", 1});
  ASSERT_TRUE(failure_signal->is_raised());
  try {
    failure_signal->check();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
  }
}

}  // namespace
}  // namespace tutti::tcp
