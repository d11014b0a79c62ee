// A measurement on one simulated rank, or on two: wrong results are counted, those that differ
// between ranks as well, absent calls left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <tutti/init.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/init.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/testing.hpp>

#include "perf/interrupt.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/sweep/rounds.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::perf {
namespace {

// A world whose native call can be wrong or missing.
class Simulated : public MeasuredWorld {
 public:
  enum class Native { right, wrong, slow, missing };

  explicit Simulated(Native native)
      : native_{native}, cluster_{sim::ClusterOptions{.size = 1}},
        communicator_{make_communicator(cluster_.transport(0), make_host_memory())} {}

  Communicator& communicator() override { return communicator_; }
  bool has_native(const Call&) override { return native_ != Native::missing; }
  void native(const Call& call) override {
    ++calls_;
    if (native_ == Native::slow) std::this_thread::sleep_for(std::chrono::microseconds{200});
    if (native_ != Native::wrong)
      std::memmove(call.out, call.in, call.out_count * call.element_bytes);
  }
  bool has_library() const override { return true; }
  std::string library() const override { return "simulated"; }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  Native native_;
  sim::Cluster cluster_;
  Communicator communicator_;
  int calls_ = 0;
};

const std::vector<Candidate> kCandidates{
    {.label = "ring", .algorithm = "ring", .choice = "ring"},
    {.label = "auto", .algorithm = "auto", .kind = CandidateType::automatic},
    {.label = "native", .algorithm = "native", .kind = CandidateType::native}};

const Workload kProblem{.collective = Collective::all_reduce, .count = 100, .size = 1};

SizeResult race(MeasuredWorld& world, SweepOptions options) {
  options.budget_s = 0.02;
  const Setting setting{world, options, false, [] {}};
  return measure_size(setting, kProblem, kCandidates);
}

TEST(Race, EveryCandidateGetsTheRoundsAskedFor) {
  Simulated world{Simulated::Native::right};
  const SizeResult result = race(world, {.rounds = 9});
  ASSERT_EQ(result.measured.size(), 3u);
  for (const Measured& measured : result.measured) {
    EXPECT_EQ(measured.times_us.size(), 9u) << measured.candidate.label;
    EXPECT_EQ(measured.wrong, 0u);
    EXPECT_TRUE(measured.checked);
    EXPECT_TRUE(measured.bit_equal);
    EXPECT_GT(measured.first_us, 0);
    for (const double time_us : measured.times_us) EXPECT_GT(time_us, 0);
  }
  EXPECT_EQ(result.measured[0].runs, "ring");
  EXPECT_FALSE(result.measured[1].runs.empty());
  EXPECT_FALSE(result.interrupted);
}

// By itself it would have one call in a sample.
TEST(Race, ASlowOneIsTimedOverSeveralCallsAsTheQuickestIs) {
  std::int64_t quick = 1;
  std::int64_t slow = 1;
  for (int attempt = 0; attempt < 5 && slow == 1; ++attempt) {  // a busy machine may hold a call up
    Simulated world{Simulated::Native::slow};
    const SizeResult result = race(world, {.rounds = 3});
    quick = result.measured[0].batch;
    slow = result.measured[2].batch;
  }
  EXPECT_GT(quick, 1);
  EXPECT_GT(slow, 1);
}

TEST(Race, WrongResultsAreCounted) {
  Simulated world{Simulated::Native::wrong};
  const SizeResult result = race(world, {.rounds = 3});
  EXPECT_EQ(result.measured[0].wrong, 0u);
  EXPECT_EQ(result.measured[2].wrong, 200u);  // all 100 elements, before and after
}

// Notes what it is called for, and when.
class Watched final : public Simulated {
 public:
  struct Event {
    bool is_barrier;
    std::chrono::steady_clock::time_point begin;
    std::chrono::steady_clock::time_point end;
  };

  Watched() : Simulated{Native::right} {}
  void native(const Call& call) override {
    const auto begin = std::chrono::steady_clock::now();
    const bool is_barrier = call.collective == Collective::barrier;
    if (!is_barrier) Simulated::native(call);
    events_.push_back({is_barrier, begin, std::chrono::steady_clock::now()});
  }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_{};
};

constexpr std::size_t kIsolatedRounds = 2000;

// One candidate by itself, and how long its samples took in all.
Measured isolated(MeasuredWorld& world, const Candidate& candidate,
                  std::chrono::duration<double>& taken) {
  const SweepOptions options{.rounds = kIsolatedRounds,
                             .warm_up_rounds = 0,
                             .check = false,
                             .pattern = CallPattern::isolated,
                             .touch = false};
  const Setting setting{world, options, false, [] {}};
  const auto start = std::chrono::steady_clock::now();
  const SizeResult result = measure_size(setting, kProblem, {candidate});
  taken = std::chrono::steady_clock::now() - start;
  return result.measured.front();
}

TEST(Race, IsolatedCallsAreOneInASampleAfterAPauseThatIsNotTimed) {
  for (const Candidate& candidate : kCandidates) {
    Simulated world{Simulated::Native::right};
    std::chrono::duration<double> taken{};
    const Measured measured = isolated(world, candidate, taken);
    EXPECT_EQ(measured.batch, 1) << candidate.label;
    ASSERT_EQ(measured.times_us.size(), kIsolatedRounds);
    EXPECT_GE(taken.count(), kIsolatedRounds * kPause_us * 1e-6) << candidate.label;
    EXPECT_LT(*std::ranges::min_element(measured.times_us), kPause_us) << candidate.label;
  }
}

// Each library's barrier lets ranks go in an order of its own: one stands before all calls,
// tutti's.
TEST(Race, AnIsolatedNativeCallFollowsAnUntimedOneThePauseAndNoBarrierOfTheLibrary) {
  Watched world;
  std::chrono::duration<double> taken{};
  static_cast<void>(isolated(world, kCandidates.back(), taken));
  const std::vector<Watched::Event>& events = world.events();
  EXPECT_TRUE(std::ranges::none_of(events, &Watched::Event::is_barrier));
  std::size_t pauses = 0;
  for (std::size_t i = 1; i < events.size(); ++i) {
    const std::chrono::duration<double, std::micro> pause = events[i].begin - events[i - 1].end;
    pauses += pause.count() >= kPause_us ? 1 : 0;
  }
  EXPECT_GE(pauses, kIsolatedRounds);
  EXPECT_GE(events.size(), 2 * kIsolatedRounds);
}

// The ranks with a wrong element from the native call.
enum class Spoiled { nobody, last, both };

// One of two ranks.
class OneOfTwo final : public MeasuredWorld {
 public:
  OneOfTwo(Channel& channel, Spoiled spoiled) : communicator_{init(channel)}, spoiled_{spoiled} {}

  Communicator& communicator() override { return communicator_; }
  bool has_native(const Call&) override { return true; }
  void native(const Call& call) override {
    communicator_.run(call);
    const bool is_last = communicator_.rank() == 1;
    if (spoiled_ == Spoiled::both || (is_last && spoiled_ == Spoiled::last))
      *static_cast<float*>(call.out) += 1;
  }
  bool has_library() const override { return true; }
  std::string library() const override { return "simulated"; }

 private:
  Communicator communicator_;
  Spoiled spoiled_;
};

// @return both ranks' findings about the native call.
Measured raced_by_two(Spoiled spoiled) {
  const auto channels = test::local_channels(2, true);
  std::array<Measured, 2> found;
  test::expect_no_error(test::run_ranks(2, [&](Rank rank) {
    const auto self = static_cast<std::size_t>(rank);
    OneOfTwo world{*channels[self], spoiled};
    const SweepOptions options{.rounds = 1, .warm_up_rounds = 0};
    const Setting setting{world, options, false, [] {}};
    const Workload workload{.collective = Collective::all_reduce, .count = 100, .size = 2};
    found[self] = measure_size(setting, workload, {kCandidates.back()}).measured.front();
  }));
  EXPECT_EQ(found[0].wrong, found[1].wrong);
  EXPECT_EQ(found[0].bit_equal, found[1].bit_equal);
  return found[0];
}

TEST(Race, ResultsThatDifferBetweenRanksAreNoticed) {
  const Measured right = raced_by_two(Spoiled::nobody);
  EXPECT_EQ(right.wrong, 0u);
  EXPECT_TRUE(right.bit_equal);
  const Measured differing = raced_by_two(Spoiled::last);
  EXPECT_EQ(differing.wrong, 2u);  // one before and one after
  EXPECT_FALSE(differing.bit_equal);
  const Measured alike = raced_by_two(Spoiled::both);
  EXPECT_EQ(alike.wrong, 4u);
  EXPECT_TRUE(alike.bit_equal) << "wrong, but the same on both";
}

TEST(MeasuredWorld, KnowsWhetherRanksHaveTheSame) {
  const auto channels = test::local_channels(3, true);
  test::expect_no_error(test::run_ranks(3, [&](Rank rank) {
    Communicator world = init(*channels[static_cast<std::size_t>(rank)]);
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
      EXPECT_TRUE(is_equal_everywhere(world, value));
      for (const Rank odd : {0, 1, 2})
        EXPECT_FALSE(is_equal_everywhere(world, rank == odd ? value ^ 1 : value));
    }
  }));
}

TEST(Race, UncheckedResultsAreNotCounted) {
  Simulated world{Simulated::Native::wrong};
  const SizeResult result = race(world, {.rounds = 3, .check = false});
  EXPECT_EQ(result.measured[2].wrong, 0u);
  EXPECT_FALSE(result.measured[2].checked);
}

TEST(Race, AMissingCallIsLeftOutAndSaysWhy) {
  Simulated world{Simulated::Native::missing};
  const SizeResult result = race(world, {.rounds = 3});
  EXPECT_FALSE(result.measured[2].refused.empty());
  EXPECT_TRUE(result.measured[2].times_us.empty());
  EXPECT_EQ(world.calls(), 0);
  EXPECT_EQ(result.measured[0].times_us.size(), 3u);
}

TEST(Race, ManyRoundsAreAllDone) {
  Simulated world{Simulated::Native::right};
  const SweepOptions options{.rounds = 20100, .check = false, .touch = false, .budget_s = 0.02};
  const Setting setting{world, options, false, [] {}};
  const SizeResult result = measure_size(setting, kProblem, {kCandidates.back()});
  EXPECT_EQ(result.measured.front().times_us.size(), 20100u);
}

TEST(Race, WarmsUpAsLongAsToldTo) {
  for (const std::size_t warm_up : {0u, 1u, 2u, 3u}) {
    Simulated world{Simulated::Native::right};
    const SizeResult result = race(world, {.rounds = 1, .warm_up_rounds = warm_up, .check = false});
    // The first call, the warm-up one by one, one sample, and the check in the end; before the
    // warm-up's and the sample's there is one that is not timed.
    const auto calls = static_cast<std::int64_t>(3 + 2 * warm_up) + result.measured[2].batch;
    EXPECT_EQ(world.calls(), calls) << warm_up;
  }
}

// Raises a signal in its hundredth call.
class Interrupting final : public Simulated {
 public:
  Interrupting() : Simulated{Native::right} {}
  void native(const Call& call) override {
    Simulated::native(call);
    if (calls() == 100) std::raise(SIGTERM);
  }
};

TEST(Race, ASignalEndsALongWarmUp) {
  const auto interrupted = [] {
    catch_interrupts();
    Interrupting world;
    const SweepOptions options{.rounds = 1, .warm_up_rounds = 500'000, .touch = false};
    const Setting setting{world, options, false, [] {}};
    const Measured last = measure_size(setting, kProblem, {kCandidates.back()}).measured.front();
    std::_Exit(last.times_us.empty() && world.calls() < 400'000 ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(0), "");
}

TEST(Race, EndsByItselfWithinTheBudget) {
  Simulated world{Simulated::Native::right};
  const SizeResult result = race(world, {});
  for (const Measured& measured : result.measured) {
    EXPECT_GE(measured.times_us.size(), 8u);
    EXPECT_GT(measured.batch, 1);  // a copy of 400 bytes takes far less than a sample should
  }
}

}  // namespace
}  // namespace tutti::perf
