// Strangers beset a job: at the store, at every door while ranks connect, and while it computes.
#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/tutti.hpp>

#include "meeting.hpp"
#include "runtime/world.hpp"
#include "strangers.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;

/// Holds its rank up when all listen: before it hears where the others are.
class LateChannel final : public Channel {
 public:
  LateChannel(std::unique_ptr<Channel> channel, std::function<void()> when_all_listen)
      : channel_{std::move(channel)}, when_all_listen_{std::move(when_all_listen)} {}
  [[nodiscard]] Rank rank() const noexcept override { return channel_->rank(); }
  [[nodiscard]] int size() const noexcept override { return channel_->size(); }
  [[nodiscard]] std::string describe() const override { return channel_->describe(); }
  [[nodiscard]] bool is_private() const noexcept override { return channel_->is_private(); }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override {
    auto all = channel_->all_gather(own, deadline);
    if (++times_ == 2) when_all_listen_();  // cards first, then places
    return all;
  }

 private:
  std::unique_ptr<Channel> channel_;
  std::function<void()> when_all_listen_;
  int times_ = 0;
};

/// Many strangers' connections, dealt out to places. @return those that were made.
int beset(const std::vector<Place>& places, int inputs, unsigned seed) {
  int made = 0;
  for (int failed = 0; made < inputs && failed < inputs; ++seed) {
    const int more = disturb(places[seed % places.size()], seed);
    made += more;
    failed += more == 0;
  }
  return made;
}

/// A job of three ranks, two of them on one of two hosts, and who comes to it.
class Job {
 public:
  Job(int inputs, unsigned seed) : inputs_{inputs}, seed_{seed * 1'000'000} {}

  void run_rank(Rank rank) {
    if (rank == kRanks - 1) beset_store_.wait();
    auto channel = open_store(meeting_.options(rank), in(600s));
    LateChannel late{std::move(channel), [&] {
                       all_listen_.arrive_and_wait();
                       if (rank == kRanks - 1) beset_doors_.wait();
                     }};
    WorldOptions options{.segment_bytes = std::size_t{1} << 30};
    options.mesh.host.name += std::to_string(rank % 2);
    options.mesh.host.boot += std::to_string(rank % 2);
    options.mesh.interface = "127.0.0.1";
    options.mesh.secret = secret_of(1);
    Communicator world = Communicator::create(World::connect(late, options, in(600s))->footing(),
                                              make_host_memory(), {.timeout = 60s});
    compute(world);
  }

  void be_hostile() {
    const auto store = std::vector<Place>{{meeting_.port(), {}}};
    EXPECT_GT(beset(store, inputs_ / 2, seed_), inputs_ / 4);
    beset_store_.count_down();
    all_listen_.arrive_and_wait();
    const std::vector<Place> doors = listening_places();
    EXPECT_EQ(doors.size(), 2 * kRanks);  // a port and a Unix socket of each; the store is closed
    EXPECT_GT(beset(doors, inputs_ / 2, seed_ + 500'000), inputs_ / 4);
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
  const unsigned seed_;
  Meeting meeting_{kRanks};
  std::latch beset_store_{1};
  std::latch all_listen_{kRanks + 1};
  std::latch beset_doors_{1};
  std::latch computing_{1};
  std::atomic<std::int64_t> calls_{0};
  std::atomic<bool> over_{false};
};

void besiege(int inputs, unsigned seed) {
  const int before = open_descriptors();
  const long resident = resident_kib();
  {
    Job job{inputs, seed};
    expect_no_error(run_ranks(kRanks + 1, [&](Rank thread) {
      if (thread < kRanks) job.run_rank(thread);
      else job.be_hostile();
    }));
  }
  EXPECT_EQ(open_descriptors(), before);
  std::printf("resident memory grew by %ld KiB\n", resident_kib() - resident);
}

TEST(Strangers, FewDoAJobNoHarm) {
  besiege(2000, 1);
}

class StrangersOf : public ::testing::TestWithParam<unsigned> {};

// Ten jobs, so that each ends in time.
TEST_P(StrangersOf, ManyDoAJobNoHarm) {
  besiege(10'000, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Jobs, StrangersOf, ::testing::Range(2U, 12U));

}  // namespace
}  // namespace tutti::test
