// Messages between two ranks, as programs send them, over every transport.
#include <optional>
#include <thread>

#include <tutti/batch.hpp>
#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "group.hpp"
#include "tests/support/patience.hpp"

namespace tutti::conformance {
namespace {

using Vector = std::vector<std::uint32_t>;

Vector message(Rank from, Rank to, std::size_t count) {
  Vector data(count);
  for (std::size_t i = 0; i < count; ++i)
    data[i] =
        static_cast<std::uint32_t>(from * 1'000'003 + to * 10'007) + static_cast<std::uint32_t>(i);
  return data;
}

class PointToPoint : public ::testing::TestWithParam<Setting> {
 protected:
  using Communicators = std::map<Rank, std::optional<Communicator>>;
  /// @param number of the communicator. @param timeout its deadline. @return that of each rank
  /// here.
  Communicators make(std::uint64_t number, Duration timeout = test::kAmple) {
    Membership membership{.communicator = number,
                          .failure_signal = std::make_shared<FailureSignal>(
                              FailureSignal::Report{}, std::make_shared<ForkGuard>())};
    for (Rank rank = 0; rank < size_; ++rank) membership.members.push_back(rank);
    Communicators made;
    for (Rank rank = 0; rank < size_; ++rank)
      if (links_->is_here(rank))
        made[rank].emplace(make_communicator(links_->transport(rank, membership),
                                             make_host_memory(), {.timeout = timeout}));
    return made;
  }
  /// Starts something on every rank that is here, and drives it to its end.
  /// @param start lists the Requests of a rank.
  template <class Start>
  void run(const Start& start) {
    std::vector<Request> all;
    for (auto& [rank, communicator] : ranks_)
      for (Request& request : start(*communicator, rank)) all.push_back(std::move(request));
    for (bool done = false; !done;) {
      done = true;
      for (Request& request : all) done = request.test() && done;
      if (!done) links_->idle();
    }
  }
  /// Calls every rank that is here, each on a thread of its own if there are several.
  template <class Call>
  void run_in_threads(const Call& call) {
    if (ranks_.size() == 1) return call(*ranks_.begin()->second, ranks_.begin()->first);
    std::vector<std::thread> threads;
    for (auto& [rank, communicator] : ranks_)
      threads.emplace_back([&call, rank = rank, own = &*communicator] { call(*own, rank); });
    for (std::thread& thread : threads) thread.join();
  }
  [[nodiscard]] Rank next(Rank rank) const { return (rank + 1) % size_; }
  [[nodiscard]] Rank previous(Rank rank) const { return (rank + size_ - 1) % size_; }

  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
  Communicators ranks_ = make(1);
};

TEST_P(PointToPoint, MessagesGoFromEveryRankToEveryRankInOrder) {
  for (const std::size_t count : {0U, 1U, 1'000U, 100'000U}) {
    std::map<Rank, std::vector<Vector>> in;
    std::map<Rank, std::vector<Vector>> out;
    run([&](Communicator& own, Rank rank) {
      std::vector<Request> requests;
      for (Rank peer = 0; peer < size_; ++peer) {
        out[rank].push_back(message(rank, peer, count));
        out[rank].push_back(message(rank, peer, count / 3));
        in[rank].emplace_back(count);
        in[rank].emplace_back(count / 3);
      }
      for (std::size_t i = 0; i < in[rank].size(); ++i) {
        const auto peer = static_cast<Rank>(i / 2);
        requests.push_back(own.async().send(out[rank][i], peer, kUserTags - 1));
        requests.push_back(own.async().recv(in[rank][i], peer, kUserTags - 1));
      }
      return requests;
    });
    for (const auto& [rank, got] : in)
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i], message(static_cast<Rank>(i / 2), rank, i % 2 == 0 ? count : count / 3));
  }
}

// A sender may be far ahead of its receiver.
TEST_P(PointToPoint, MessagesThatWaitDisturbNoCollective) {
  std::map<Rank, std::vector<Vector>> out;
  std::map<Rank, std::vector<Request>> sends;
  constexpr std::size_t kMessages = 30;
  for (auto& [rank, communicator] : ranks_) {
    for (std::size_t i = 0; i < kMessages; ++i)
      out[rank].push_back(message(rank, next(rank), 10 + 1'000 * i));
    for (Vector& data : out[rank])
      sends[rank].push_back(communicator->async().send(data, next(rank), 5));
  }
  for (int call = 0; call < 100; ++call) {
    std::map<Rank, Vector> x;
    run([&](Communicator& own, Rank rank) {
      std::vector<Request> requests;
      requests.push_back(own.async().all_reduce(x[rank] = Vector(3, 1)));
      return requests;
    });
    for (const auto& [rank, result] : x)
      ASSERT_EQ(result, Vector(3, static_cast<std::uint32_t>(size_)));
  }
  std::map<Rank, std::vector<Vector>> in;
  run([&](Communicator& own, Rank rank) {
    std::vector<Request> requests = std::move(sends[rank]);
    for (std::size_t i = 0; i < kMessages; ++i) in[rank].emplace_back(10 + 1'000 * i);
    for (Vector& data : in[rank]) requests.push_back(own.async().recv(data, previous(rank), 5));
    return requests;
  });
  for (const auto& [rank, got] : in)
    for (const Vector& data : got) EXPECT_EQ(data, message(previous(rank), rank, data.size()));
}

TEST_P(PointToPoint, BlockingCallsOfThreadsMeet) {
  if (!GetParam().backend.threads && GetParam().backend.one_process)
    GTEST_SKIP() << "one thread drives all ranks";
  run_in_threads([&](Communicator& own, Rank rank) {
    for (const std::size_t count : {0U, 7U, 50'000U}) {
      Vector got(count);
      const Vector sent = message(rank, next(rank), count);
      own.sendrecv(sent, next(rank), got, previous(rank));
      EXPECT_EQ(got, message(previous(rank), rank, count));
      if (size_ == 1) continue;
      // Round once: rank 0 sends first, all others receive first.
      Vector passed(count);
      const Vector first = message(0, 1, count);
      if (rank == 0) own.send(first, 1, 9);
      own.recv(passed, previous(rank), 9);
      if (rank != 0) {
        EXPECT_TRUE(own.try_().send(passed, next(rank), 9));
      }
      EXPECT_EQ(passed, first);
    }
  });
}

// Blocking calls of two communicators at once that would deadlock.
TEST_P(PointToPoint, BatchesOfThreadsGoRoundInRings) {
  if (!GetParam().backend.threads && GetParam().backend.one_process)
    GTEST_SKIP() << "one thread drives all ranks";
  Communicators others = make(2);
  run_in_threads([&](Communicator& own, Rank rank) {
    Communicator& other = *others[rank];
    constexpr std::size_t kCount = 300'000;
    for (int call = 0; call < 3; ++call) {
      const Vector out = message(rank, next(rank), kCount);
      const Vector back = message(rank, previous(rank), 5);
      Vector in(kCount);
      Vector from_next(5);
      Vector counts(3, 1);
      Request request;
      batch([&] {
        own.send(out, next(rank));
        own.recv(in, previous(rank));
        other.send(back, previous(rank), 3);
        other.recv(from_next, next(rank), 3);
        request = own.async().all_reduce(counts);
        other.barrier();
      });
      EXPECT_EQ(in, message(previous(rank), rank, kCount));
      EXPECT_EQ(from_next, message(next(rank), rank, 5));
      request.wait();
      EXPECT_EQ(counts, Vector(3, static_cast<std::uint32_t>(size_)));
    }
  });
}

// One communicator's calls end, although another one's deadline passes.
TEST_P(PointToPoint, BatchesOfThreadsEndWithTheFirstError) {
  if (size_ == 1 || !GetParam().backend.threads) GTEST_SKIP() << "of several ranks, here";
  Communicators late = make(2, std::chrono::milliseconds{60});
  run_in_threads([&](Communicator& own, Rank rank) {
    Vector out = message(rank, next(rank), 10);
    Vector in(10);
    Vector never(1);
    const auto result = try_batch([&] {
      if (rank == 0) late[0]->recv(never, 1);
      own.send(out, next(rank));
      own.recv(in, previous(rank));
    });
    EXPECT_EQ(in, message(previous(rank), rank, 10));
    EXPECT_EQ(static_cast<bool>(result), rank != 0);
    if (rank == 0 && !result) {
      EXPECT_EQ(result.error().code(), ErrorCode::timeout) << result.error().what();
    }
  });
}

TEST_P(PointToPoint, AreFoundBeforeTheyAreReceived) {
  for (const std::size_t count : {0U, 1U, 5U, 1'000U, 100'000U}) {
    std::map<Rank, Vector> out, in;
    std::map<Rank, std::vector<Request>> requests;
    std::map<Rank, std::optional<Arrival>> found;
    for (auto& [rank, own] : ranks_) {
      out[rank] = message(rank, next(rank), count);
      requests[rank].push_back(own->async().send(out[rank], next(rank), 4));
      requests[rank].push_back(own->async().send(out[rank], next(rank), 3));
    }
    for (bool done = false; !done; links_->idle()) {
      done = true;
      for (auto& [rank, own] : ranks_) {
        if (!found[rank]) {
          found[rank] = own->probe_now(any_rank, 3);
          if (found[rank]) {
            EXPECT_EQ(found[rank]->from, previous(rank));
            EXPECT_EQ(found[rank]->tag, 3);
            EXPECT_EQ(found[rank]->count<std::uint32_t>(), count);
            EXPECT_TRUE(own->probe_now(previous(rank), 3)) << "it is still there";
            EXPECT_FALSE(own->probe_now(any_rank, 5));
            in[rank].resize(2 * count);
            const std::span<std::uint32_t> all{in[rank]};
            requests[rank].push_back(own->async().recv(all.first(count), found[rank]->from, 3));
            requests[rank].push_back(own->async().recv(all.last(count), found[rank]->from, 4));
          }
        }
        done = test_all(requests[rank]) && found[rank] && done;
      }
    }
    for (auto& [rank, got] : in) {
      Vector expected = message(previous(rank), rank, count);
      expected.insert(expected.end(), expected.begin(),
                      expected.begin() + static_cast<std::ptrdiff_t>(count));
      EXPECT_EQ(got, expected) << "rank " << rank << ", " << count << " elements";
    }
  }
}

TEST_P(PointToPoint, AreFoundFromAllOfManySenders) {
  constexpr std::size_t kMessages = 4;
  std::vector<Request> sends;
  std::map<Rank, Vector> out;
  for (auto& [rank, own] : ranks_) {
    out[rank] = message(rank, 0, 3);
    for (std::size_t i = 0; i < kMessages; ++i) sends.push_back(own->async().send(out[rank], 0, 6));
  }
  std::map<Rank, std::size_t> from;
  std::vector<Vector> in(kMessages * static_cast<std::size_t>(size_), Vector(3));
  std::vector<Request> receives;
  for (bool done = false; !done; links_->idle()) {
    if (ranks_.contains(0) && receives.size() < in.size())
      if (const auto found = ranks_[0]->probe_now(any_rank, 6)) {
        ++from[found->from];
        receives.push_back(ranks_[0]->async().recv(in[receives.size()], found->from, 6));
      }
    done = test_all(sends);
    done = test_all(receives) && done;
    done = done && (!ranks_.contains(0) || receives.size() == in.size());
  }
  for (const auto& [rank, times] : from) EXPECT_EQ(times, kMessages) << "rank " << rank;
}

// The last test of a backend's ranks: they fail.
TEST_P(PointToPoint, LengthsThatDifferAreAMismatchForTheReceiver) {
  if (size_ == 1 || !GetParam().backend.one_process) GTEST_SKIP() << "of several ranks, here";
  Vector sent(5);
  Vector got(4);
  auto send = ranks_[0]->try_().start(call::send(sent, 1, 0));
  auto recv = ranks_[1]->try_().start(call::recv(got, 0, 0));
  Result<bool> done = false;
  if (!recv) done = recv.error();
  while (done && !done.value()) {
    (void)send.value().try_test();
    links_->idle();
    done = recv.value().try_test();
  }
  ASSERT_FALSE(done) << "wrong data";
  EXPECT_EQ(done.error().code(), ErrorCode::mismatch) << done.error().what();
}

INSTANTIATE_TEST_SUITE_P(Conformance, PointToPoint, ::testing::ValuesIn(settings()), name_of);

}  // namespace
}  // namespace tutti::conformance
