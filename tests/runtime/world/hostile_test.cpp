// Intruders attack a job: at the store, at every acceptor while ranks connect, and while it
// computes.
#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/tutti.hpp>

#include "tests/runtime/intruders.hpp"
#include "tests/runtime/meeting.hpp"
#include "tests/runtime/world/attacked_worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;

/// A job of three ranks, two of them on one of two hosts, and who comes to it.
class Job {
 public:
  void run_rank(Rank rank) {
    if (rank == kRanks - 1) beset_store_.wait();
    auto channel = open_store(meeting_.options(rank), in(600s));
    LateChannel late{std::move(channel), [&] {
                       all_listen_.arrive_and_wait();
                       if (rank == kRanks - 1) beset_doors_.wait();
                     }};
    Communicator world = besieged_world(late);
    compute(world);
  }

  /// Lets intruders come while the ranks meet, until those compute.
  void attack_meeting(int inputs, unsigned seed) {
    EXPECT_GE(attack({{meeting_.port(), {}}}, inputs / 2, seed), inputs / 2);
    beset_store_.count_down();
    all_listen_.arrive_and_wait();
    std::vector<Place> acceptors = listening_places();
    EXPECT_EQ(acceptors.size(),
              2 * kRanks);  // a port and a Unix socket of each; the store is closed
    // The last rank connects to all others, and so accepts none.
    acceptors = first_to_answer(acceptors, 2 * (kRanks - 1));
    EXPECT_GE(attack(acceptors, inputs / 2, seed + 500'000), inputs / 2);
    beset_doors_.count_down();
    computing_.wait();
  }
  void await_computing() { computing_.wait(); }
  void end() { over_ = true; }
  [[nodiscard]] std::int64_t calls() const { return calls_; }

 private:
  static std::vector<Place> first_to_answer(const std::vector<Place>& places, std::size_t count) {
    std::vector<Place> found;
    for (const Deadline end = in(kAmple); found.size() < count && Clock::now() < end;)
      for (const Place& place : places) {
        const auto is_it = [&](const Place& known) {
          return known.port == place.port && known.name == place.name;
        };
        if (std::ranges::none_of(found, is_it) && answers(place, in(100ms))) found.push_back(place);
      }
    EXPECT_EQ(found.size(), count);
    return found;
  }

  void compute(Communicator& world) {
    std::vector<std::int64_t> values(1000);
    for (std::int64_t over = 0; over == 0;) {
      values.assign(values.size(), world.rank());
      values.back() = over_;  // so that all leave together
      world.all_reduce(std::span{values});
      ASSERT_EQ(values.front(), kRanks * (kRanks - 1) / 2);
      over = values.back();
      if (world.rank() == 0 && ++calls_ == 1) computing_.count_down();
    }
  }

  Meeting meeting_{kRanks};
  std::latch beset_store_{1};
  std::latch all_listen_{kRanks + 1};
  std::latch beset_doors_{1};
  std::latch computing_{1};
  std::atomic<std::int64_t> calls_{0};
  std::atomic<bool> over_{false};
};

/// While the first job computes, another one of the same process starts.
void be_hostile(Job& first, Job& second, int inputs) {
  first.attack_meeting(inputs / 2, 1);
  const auto calls_during = [&first](const auto& what) {
    const auto begin = Clock::now();
    const auto before = first.calls();
    what();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    return static_cast<double>(first.calls() - before) / elapsed.count();
  };
  const double alone = calls_during([] { std::this_thread::sleep_for(500ms); });
  const double during = calls_during([&] { second.attack_meeting(inputs / 2, 1'000'001); });
  std::printf("collectives per second: %.0f alone, %.0f beside another job that is attack\n", alone,
              during);
  EXPECT_TRUE(listening_places().empty());
  first.end();
  second.end();
}

void besiege(int inputs) {
  const int before = open_descriptors();
  const long resident = resident_kib();
  {
    Job first;
    Job second;
    expect_no_error(run_ranks(2 * kRanks + 1, [&](Rank thread) {
      if (thread < kRanks) return first.run_rank(thread);
      if (thread == 2 * kRanks) return be_hostile(first, second, inputs);
      first.await_computing();
      second.run_rank(thread - kRanks);
    }));
  }
  EXPECT_EQ(open_descriptors(), before);
  std::printf("resident memory grew by %ld KiB\n", resident_kib() - resident);
}

TEST(Intruders, FewDoAJobNoHarm) {
  besiege(2000);
}

}  // namespace
}  // namespace tutti::test
