// A measurement on one simulated rank: wrong results are counted, absent calls left out.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "backends/sim/sim.hpp"
#include "perf/sweep_interrupt.hpp"
#include "perf/sweep_measure.hpp"

namespace tutti::perf {
namespace {

// A world whose native call can be told to be wrong or to be missing.
class Simulated : public World {
 public:
  enum class Native { right, wrong, missing };

  explicit Simulated(Native native)
      : native_{native}, cluster_{sim::ClusterOptions{.size = 1}},
        communicator_{Communicator::create(cluster_.transport(0), make_host_memory())} {}

  Communicator& communicator() override { return communicator_; }
  bool has_native(const Call&) override { return native_ != Native::missing; }
  void native(const Call& call) override {
    ++calls_;
    if (native_ == Native::right)
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
    {.label = "auto", .algorithm = "auto", .kind = Kind::automatic},
    {.label = "native", .algorithm = "native", .kind = Kind::native}};

const Problem kProblem{.collective = Collective::all_reduce, .count = 100, .size = 1};

SizeResult race(World& world, SweepOptions options) {
  options.budget_s = 0.02;
  const Setting setting{world, options, [] {}};
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

TEST(Race, WrongResultsAreCounted) {
  Simulated world{Simulated::Native::wrong};
  const SizeResult result = race(world, {.rounds = 3});
  EXPECT_EQ(result.measured[0].wrong, 0u);
  EXPECT_EQ(result.measured[2].wrong, 200u);  // all 100 elements, before and after
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
  const Setting setting{world, options, [] {}};
  const SizeResult result = measure_size(setting, kProblem, {kCandidates.back()});
  EXPECT_EQ(result.measured.front().times_us.size(), 20100u);
}

TEST(Race, WarmsUpAsLongAsToldTo) {
  for (const std::size_t warm_up : {0u, 1u, 2u, 3u}) {
    Simulated world{Simulated::Native::right};
    const SizeResult result = race(world, {.rounds = 1, .warm_up_rounds = warm_up, .check = false});
    // The first call, the warm-up one by one, one sample, and the check in the end.
    const auto calls = static_cast<std::int64_t>(2 + warm_up) + result.measured[2].batch;
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
    const Setting setting{world, options, [] {}};
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
