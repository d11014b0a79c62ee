// Communicators share links without meeting each other, whatever order and thread they live in.
#include <numeric>
#include <random>
#include <thread>

#include "group.hpp"
#include "tests/support/patience.hpp"

namespace tutti::conformance {
namespace {

class Sharing : public ::testing::TestWithParam<Setting> {
 protected:
  [[nodiscard]] std::vector<Rank> all(bool backwards = false) const {
    std::vector<Rank> ranks(static_cast<std::size_t>(size_));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (backwards) std::reverse(ranks.begin(), ranks.end());
    return ranks;
  }

  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
};

/// Messages between all pairs of a group, in both directions, of several sizes.
struct Traffic {
  Traffic(Group& group, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    for (Rank from = 0; from < group.size(); ++from)
      for (Rank to = 0; to < group.size(); ++to)
        for (const std::size_t most : {8u, 3000u, 100000u, 700000u}) {
          out.push_back(pattern(random() % most, random()));
          in.emplace_back(out.back().size());
          const auto tag = static_cast<std::uint32_t>(random() % 3);
          routes.push_back({from, to, tag});
        }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto [from, to, tag] = routes[i];
      if (i % 3 != 0) group.receive(to, from, in[i], {.tag = tag});
      group.send(from, to, out[i], {.tag = tag});
      if (i % 3 == 0) group.receive(to, from, in[i], {.tag = tag});
    }
  }

  struct Route {
    Rank from;
    Rank to;
    std::uint32_t tag;
  };
  std::vector<Route> routes{};
  std::deque<Bytes> out{};
  std::deque<Bytes> in{};
};

TEST_P(Sharing, TwoCommunicatorsInterleave) {
  Group one{*links_, {.communicator = 1, .members = all()}};
  Group other{*links_, {.communicator = 2, .members = all(true)}};
  const Traffic first{one, 1};
  const Traffic second{other, 2};
  ASSERT_TRUE(other.run_until([&] {
    one.step();
    return one.settled() && other.settled();
  }));
  EXPECT_TRUE(first.in == first.out);
  EXPECT_TRUE(second.in == second.out);
}

TEST_P(Sharing, OnePolledAloneIsNotHeldUpByTheOther) {
  Group one{*links_, {.communicator = 1, .members = all()}};
  Group other{*links_, {.communicator = 2, .members = all()}};
  const Traffic first{one, 3};
  const Traffic second{other, 4};
  ASSERT_TRUE(one.finish());
  EXPECT_TRUE(first.in == first.out);
  ASSERT_TRUE(other.finish());
  EXPECT_TRUE(second.in == second.out);
}

TEST_P(Sharing, APollOfOneMovesTheMessagesOfTheOther) {
  if (size_ < 3) GTEST_SKIP() << "takes three ranks";
  if (!GetParam().backend.helps_others) GTEST_SKIP() << "each communicator moves by its own polls";
  Group one{*links_, {.communicator = 1, .members = all()}};
  Group other{*links_, {.communicator = 2, .members = all()}};
  const Rank last = size_ - 1;
  const Bytes large = pattern(4U << 20, 1);
  Bytes in(large.size());
  const Bytes word = pattern(8, 2);
  Bytes heard(word.size());
  // Rank 0 waits for rank 1 in one communicator; rank 1 speaks only after the last rank has sent
  // what rank 0 has asked for, and does not poll for, in the other.
  one.receive(0, last, in);
  const std::uint64_t sent = one.send(last, 0, large);
  other.receive(0, 1, heard);
  ASSERT_TRUE(other.run_until([&] {
    one.step(last);
    return one.complete(last, sent);
  }));
  other.send(1, 0, word);
  ASSERT_TRUE(other.finish());
  ASSERT_TRUE(one.finish());
  EXPECT_TRUE(in == large && heard == word);
}

TEST_P(Sharing, AMemberMayMakeItsEndLate) {
  if (!GetParam().backend.one_process) GTEST_SKIP() << "the ranks are not all in one process";
  const auto failure_signal = std::make_shared<FailureSignal>();
  const Membership early{.communicator = 1, .members = all(), .failure_signal = failure_signal};
  const Membership late{.communicator = 2, .members = all(), .failure_signal = failure_signal};
  // Rank 0 makes the two in one order, the last rank in the other, and messages do not wait.
  const Rank last = size_ - 1;
  const auto from = links_->transport(0, late);
  const Bytes small = pattern(100, 1);
  const Bytes large = pattern(1U << 20, 2);
  std::array<Piece, 2> pieces{Piece{const_cast<std::byte*>(small.data()), small.size()},
                              Piece{const_cast<std::byte*>(large.data()), large.size()}};
  std::vector<Transfer> sends{};
  for (std::size_t i = 0; i < pieces.size(); ++i)
    sends.push_back({.kind = Transfer::Kind::send,
                     .peer = last,
                     .tag = static_cast<std::uint32_t>(i),
                     .pieces = std::span{&pieces[i], 1}});
  from->post(sends);
  std::array<Completion, 8> completions{};
  std::size_t done = from->poll(completions);
  // With one rank both ends are the same object.
  const auto to = size_ == 1 ? nullptr : links_->transport(last, late);
  Transport& receiver = to ? *to : *from;
  Bytes got_small(small.size());
  Bytes got_large(large.size());
  std::array<Piece, 2> places{Piece{got_small.data(), small.size()},
                              Piece{got_large.data(), large.size()}};
  std::vector<Transfer> receives{};
  for (std::size_t i = 0; i < places.size(); ++i)
    receives.push_back({.kind = Transfer::Kind::recv,
                        .peer = 0,
                        .tag = static_cast<std::uint32_t>(i),
                        .pieces = std::span{&places[i], 1}});
  receiver.post(receives);
  const auto deadline = std::chrono::steady_clock::now() + test::kAmple;
  while (done < 4 && std::chrono::steady_clock::now() < deadline) {
    const std::size_t before = done;
    done += from->poll(completions);
    if (to) done += to->poll(completions);
    if (done == before) links_->idle();
  }
  EXPECT_EQ(done, 4U);
  EXPECT_TRUE(got_small == small && got_large == large);
}

TEST_P(Sharing, OverlappingCommunicatorsOfSomeRanks) {
  if (size_ < 3) GTEST_SKIP() << "takes three ranks";
  std::vector<Rank> front = all();
  front.pop_back();
  std::vector<Rank> back = all(true);
  back.pop_back();
  Group one{*links_, {.communicator = 5, .members = front}};
  Group other{*links_, {.communicator = 6, .members = back}};
  const Traffic first{one, 5};
  const Traffic second{other, 6};
  ASSERT_TRUE(other.finish());
  ASSERT_TRUE(one.finish());
  EXPECT_TRUE(first.in == first.out);
  EXPECT_TRUE(second.in == second.out);
}

TEST_P(Sharing, ManyCommunicatorsComeAndGo) {
  for (std::uint64_t round = 1; round <= 40; ++round) {
    const Bytes out = pattern(round * 1000, round);
    Bytes in(out.size());
    const Bytes ignored(10);
    Group group{*links_, {.communicator = round, .members = all(round % 2 == 0)}};
    group.send(0, size_ - 1, out);
    group.receive(size_ - 1, 0, in);
    ASSERT_TRUE(group.finish());
    EXPECT_TRUE(in == out);
    group.send(size_ - 1, 0, ignored);  // no rank receives it: it must not disturb the next
  }
}

TEST_P(Sharing, TwoThreadsHaveACommunicatorEach) {
  if (!GetParam().backend.threads) GTEST_SKIP() << "one thread drives all of this backend";
  Group one{*links_, {.communicator = 1, .members = all()}};
  Group other{*links_, {.communicator = 2, .members = all(true)}};
  const auto work = [](Group& group, std::uint64_t seed) {
    for (std::uint64_t round = 0; round < 3; ++round) {
      const Traffic traffic{group, seed + round};
      EXPECT_TRUE(group.finish());
      EXPECT_TRUE(traffic.in == traffic.out);
    }
  };
  std::thread thread{[&] { work(one, 10); }};
  work(other, 20);
  thread.join();
}

TEST_P(Sharing, EveryRankMayHaveAThread) {
  if (!GetParam().backend.threads) GTEST_SKIP() << "one thread drives all of this backend";
  const auto failure_signal = std::make_shared<FailureSignal>();
  constexpr int kRounds = 50;
  std::vector<std::thread> threads{};
  for (Rank rank = 0; rank < size_; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = links_->transport(
          rank, {.communicator = 9, .members = all(), .failure_signal = failure_signal});
      Bytes in(20000);
      for (int round = 0; round < kRounds; ++round) {
        const Rank right = (rank + 1) % size_;
        const Rank left = (rank + size_ - 1) % size_;
        Bytes out = pattern(in.size(), static_cast<std::uint64_t>(rank * kRounds + round));
        const Piece from{out.data(), out.size()};
        const Piece to{in.data(), in.size()};
        const std::array<Transfer, 2> transfers{
            Transfer{.kind = Transfer::Kind::recv, .peer = left, .pieces = std::span{&to, 1}},
            Transfer{.kind = Transfer::Kind::send, .peer = right, .pieces = std::span{&from, 1}}};
        transport->post(transfers);
        std::array<Completion, 2> completions{};
        for (std::size_t done = 0; done < 2;) {
          const std::size_t count = transport->poll(completions);
          if (count == 0) std::this_thread::yield();
          done += count;
        }
        EXPECT_TRUE(in == pattern(in.size(), static_cast<std::uint64_t>(left * kRounds + round)));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Conformance, Sharing, ::testing::ValuesIn(settings()), name_of);

}  // namespace
}  // namespace tutti::conformance
