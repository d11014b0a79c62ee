// A measurement on one rank with a GPU that is none: whose clock counts, what is replayed, and that
// wrong results and wrong replays are counted.
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/spi/communicator.hpp>
#include <tutti/testing.hpp>

#include "perf/measured_world_gpu.hpp"
#include "perf/sweep/measure.hpp"
#include "tests/collectives/threaded_streams.hpp"

namespace tutti::perf {
namespace {

constexpr double kTime_us = 700;  // of whatever is timed: more than a sample should have

/// The calls of the fake GPU, and its faults.
struct Told {
  int timed = 0;
  int captured = 0;
  int launched = 0;
  int copied = 0;
  std::vector<std::byte*> blocks{};  ///< The first targets of copies: input and output.
  bool lies = false;                 ///< Whether a replay spoils the first element of the output.
};

constexpr std::size_t kGuard = 4096;  // bytes before what a call uses

/// Memory of the host in place of a GPU's, and work that is done when it is enqueued.
class FakeStream final : public cuda::TimedStream {
 public:
  explicit FakeStream(Told& told) : told_{told} {}
  std::string gpu() const override { return "GPU 0 fake"; }
  std::string nccl() const override { return "0.0"; }
  Stream stream() const override { return nullptr; }
  void wait() override {}
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    ++told_.copied;
    if (told_.blocks.size() < 2) told_.blocks.push_back(to);
    std::memcpy(to, from, bytes);
  }
  double time_us(const std::function<void()>& enqueue) override {
    ++told_.timed;
    enqueue();
    return kTime_us;
  }
  std::function<void()> capture(const std::function<void()>& enqueue) override {
    ++told_.captured;
    return [enqueue, &told = told_] {
      ++told.launched;
      enqueue();
      if (told.lies) told.blocks[1][kGuard] ^= std::byte{1};
    };
  }

 private:
  Told& told_;
};

/// One rank of a cluster, whose messages on streams go through a hub.
class OneRank final : public MeasuredWorld {
 public:
  OneRank() : communicator_{make_communicator(cluster_.transport(0), make_host_memory())} {
    attach_streams(communicator_, hub_.transport(0));
  }
  Communicator& communicator() override { return communicator_; }
  bool has_library() const override { return false; }
  bool has_native(const Call&) override { return false; }
  void native(const Call&) override { FAIL() << "a call of no library"; }
  std::string library() const override { return "an MPI"; }

 private:
  sim::Cluster cluster_{sim::ClusterOptions{.size = 1}};
  harness::StreamHub hub_{1};
  Communicator communicator_;
};

const std::vector<Candidate> kOurs{
    {.label = "ring", .algorithm = "ring", .choice = "ring"},
    {.label = "auto", .algorithm = "auto", .kind = CandidateType::automatic}};

const Candidate kNative{.label = "native", .algorithm = "native", .kind = CandidateType::native};
const Workload kProblem{.collective = Collective::all_reduce, .count = 100, .size = 1};

SizeResult race(Told& told, SweepOptions options, const Workload& workload = kProblem,
                const std::vector<Candidate>& candidates = kOurs) {
  const auto world =
      make_gpu_world(std::make_unique<OneRank>(), std::make_unique<FakeStream>(told));
  EXPECT_EQ(world->library(), "an MPI");
  EXPECT_TRUE(world->has_library());
  options.on_gpus = true;
  options.rounds = 3;
  options.warm_up_rounds = 1;
  const Setting setting{*world, options, false, [] {}};
  return measure_size(setting, workload, candidates);
}

TEST(RaceOnGpus, TheGpuIsTheClock) {
  Told told;
  const SizeResult result = race(told, {});
  EXPECT_EQ(told.timed, 2 * (1 + 3));
  EXPECT_EQ(told.captured, 0);
  for (const Measured& measured : result.measured) {
    EXPECT_EQ(measured.times_us, (std::vector<double>(3, kTime_us)));
    EXPECT_EQ(measured.batch, 1);
    EXPECT_EQ(measured.wrong, 0u);
    EXPECT_TRUE(measured.checked);
    EXPECT_EQ(measured.segment_bytes, 0u);
  }
}

TEST(RaceOnGpus, InputsAreCopiedAnewUnlessTheyAreLeftAlone) {
  Told touched;
  Told left;
  race(touched, {.check = false});
  race(left, {.check = false, .touch = false});
  EXPECT_EQ(touched.copied - left.copied, 2 * (1 + 3));
}

TEST(RaceOnGpus, GraphsAreReplayedInTheSamplesAndChecked) {
  Told told;
  const SizeResult result = race(told, {.graph = true});
  EXPECT_EQ(told.captured, 2);
  // Two checks each, and in each sample one that is not timed and one that is.
  EXPECT_EQ(told.launched, 2 * (2 + 2 * (1 + 3)));
  for (const Measured& measured : result.measured) EXPECT_EQ(measured.wrong, 0u);
}

TEST(RaceOnGpus, AReplayThatGivesSomethingElseIsWrong) {
  Told told{.lies = true};
  const SizeResult result = race(told, {.graph = true});
  for (const Measured& measured : result.measured)
    EXPECT_EQ(measured.wrong, 2u);  // an element, before and after
  Told direct{.lies = true};
  for (const Measured& measured : race(direct, {}).measured) EXPECT_EQ(measured.wrong, 0u);
}

// The library under these streams has a broadcast of bytes, and nothing else.
TEST(RaceOnGpus, NativeIsTheCallOfTheLibraryUnderTheStreams) {
  Told told;
  const Workload bytes{
      .collective = Collective::broadcast, .count = 100, .type = Datatype::u8, .size = 1};
  const Measured has = race(told, {}, bytes, {kNative}).measured.front();
  EXPECT_EQ(has.refused, "");
  EXPECT_EQ(has.wrong, 0u);
  EXPECT_EQ(has.times_us.size(), 3u);
  const Measured lacks = race(told, {}, kProblem, {kNative}).measured.front();
  EXPECT_EQ(lacks.refused, "NCCL has no such call for these buffers, datatype and operator");
  EXPECT_TRUE(lacks.times_us.empty());
  Workload uneven = bytes;
  uneven.collective = Collective::all_gather;
  uneven.uneven = true;
  EXPECT_NE(race(told, {}, uneven, {kNative}).measured.front().refused, "");
}

TEST(RaceOnGpus, AProbeIsOneOfTheHost) {
  Told told;
  const Measured probe =
      race(told, {}, kProblem, {{.label = "probe", .kind = CandidateType::probe}}).measured.front();
  EXPECT_EQ(probe.refused, "the probe measures memory of the host: leave --memory cuda out");
}

}  // namespace
}  // namespace tutti::perf
