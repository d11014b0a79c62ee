// Strangers beset a job: at the store, at every door while ranks connect, and while it computes.
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/tutti.hpp>

#include "meeting.hpp"
#include "siege.hpp"
#include "strangers.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;

/// A job of three ranks, two of them on one of two hosts, and who comes to it.
class Job {
 public:
  explicit Job(int inputs) : inputs_{inputs} {}

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

  void be_hostile() {
    const auto store = std::vector<Place>{{meeting_.port(), {}}};
    EXPECT_GT(beset(store, inputs_ / 2, 1), inputs_ / 4);
    beset_store_.count_down();
    all_listen_.arrive_and_wait();
    const std::vector<Place> doors = listening_places();
    EXPECT_EQ(doors.size(), 2 * kRanks);  // a port and a Unix socket of each; the store is closed
    EXPECT_GT(beset(doors, inputs_ / 2, 500'001), inputs_ / 4);
    beset_doors_.count_down();
    computing_.wait();
    EXPECT_TRUE(listening_places().empty());
    const auto quiet = calls_in(500ms);
    int calls = 0;
    const auto begin = Clock::now();
    const auto before = calls_.load();
    do {
      for (const Place& place : doors) EXPECT_FALSE(call(place)) << "someone listens";
      EXPECT_FALSE(call(store.front())) << "someone listens";
      calls += 2 * kRanks + 1;
    } while (calls < inputs_);
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    const auto beset = static_cast<double>(calls_ - before) / elapsed.count();
    std::printf(
        "collectives per second: %.0f alone, %.0f beside %.0f refused connections, %.0f "
        "alone\n",
        quiet, beset, calls / elapsed.count(), calls_in(500ms));
    over_ = true;
  }

 private:
  double calls_in(milliseconds time) {
    const auto before = calls_.load();
    std::this_thread::sleep_for(time);
    return static_cast<double>(calls_ - before) / std::chrono::duration<double>{time}.count();
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

  const int inputs_;
  Meeting meeting_{kRanks};
  std::latch beset_store_{1};
  std::latch all_listen_{kRanks + 1};
  std::latch beset_doors_{1};
  std::latch computing_{1};
  std::atomic<std::int64_t> calls_{0};
  std::atomic<bool> over_{false};
};

void besiege(int inputs) {
  const int before = open_descriptors();
  const long resident = resident_kib();
  {
    Job job{inputs};
    expect_no_error(run_ranks(kRanks + 1, [&](Rank thread) {
      if (thread < kRanks) job.run_rank(thread);
      else job.be_hostile();
    }));
  }
  EXPECT_EQ(open_descriptors(), before);
  std::printf("resident memory grew by %ld KiB\n", resident_kib() - resident);
}

TEST(Strangers, FewDoAJobNoHarm) {
  besiege(2000);
}

}  // namespace
}  // namespace tutti::test
