// A difference of one rank is one error on all ranks, and none hangs.
#include <latch>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const Setting kThreeRanks{3, "auto", 1};

/// Rank 1 has other options, `change` says which. Expects one error that names it, and words.
void expect_refused(const std::string& words,
                    const std::function<void(GradientOptions&, Communicator&)>& change) {
  std::vector<std::string> texts(3);
  train(kThreeRanks, [&](Communicator& world) {
    Communicator half = world.split(world.rank() % 2);
    Model model{{10, 20}};
    GradientOptions options{.order = GradientOrder::reversed};
    if (world.rank() == 1) change(options, half);
    try {
      const GradientSync sync{world, model.parameters(), options};
      ADD_FAILURE() << words << ": ranks differ";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_EQ(error.culprit(), 1) << error.what();
      texts[static_cast<std::size_t>(world.rank())] = error.what();
    }
    EXPECT_NO_THROW(world.barrier());
  });
  EXPECT_NE(texts[0].find("rank 1 has"), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find(words), std::string::npos) << texts[0];
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(GradientRefusals, NameTheRankOfOtherOptions) {
  expect_refused(
      "rank 1 has option algorithm \"ring\", rank 0 and most others have option algorithm \"\"",
      [](GradientOptions& options, Communicator&) { options.algorithm = "ring"; });
  expect_refused("option compression \"f16\"",
                 [](GradientOptions& options, Communicator&) { options.compression = "f16"; });
  expect_refused("1 groups",
                 [](GradientOptions& options, Communicator& half) { options.groups = {&half}; });
  expect_refused("on_shard set", [](GradientOptions& options, Communicator&) {
    options.on_shard = [](std::span<const ParameterShard>) {};
  });
  expect_refused("option hash true",
                 [](GradientOptions& options, Communicator&) { options.hash = true; });
}

/// Each of them, and none of those that are equal.
TEST(GradientRefusals, ListWhatDiffers) {
  expect_refused(
      "rank 1 has option norm true, option in_flight 7, option resync_every 3, rank 0 and most "
      "others have option norm false, option in_flight ",
      [](GradientOptions& options, Communicator&) {
        options.norm = true;
        options.in_flight = 7;
        options.resync_every = 3;
        static std::vector<float> state(4);
        static const std::array<Parameter, 1> arrays{Parameter{.data = state.data(), .count = 4}};
        options.state.assign(arrays.begin(), arrays.end());
      });
}

TEST(GradientRefusals, NameTheRankOfOptionsThatMakeNoSense) {
  expect_refused("rings",
                 [](GradientOptions& options, Communicator&) { options.algorithm = "rings"; });
  expect_refused("'zip' is none of",
                 [](GradientOptions& options, Communicator&) { options.compression = "zip"; });
  expect_refused("a group is null",
                 [](GradientOptions& options, Communicator&) { options.groups = {nullptr}; });
  expect_refused("on_shard makes weights", [](GradientOptions& options, Communicator&) {
    options.on_shard = [](std::span<const ParameterShard>) {};
    options.compression = "f16";
  });
}

/// A callback runs while the program waits: all gradients of this step are ready then.
TEST(GradientRefusals, NameAGradientThatIsReadyWithinWait) {
  train(kThreeRanks, [](Communicator& world) {
    Model model{{10, 20}};
    GradientSync* own = nullptr;
    bool is_wrong = true;
    GradientSync sync{
        world,
        model.parameters(),
        {.unused = UnusedGradients::zeros, .on_bucket = [&](const ReducedBucket& bucket) {
           if (world.rank() == 1 && is_wrong && bucket.is_last) own->ready(0);
         }}};
    own = &sync;
    sync.ready(1);  // the other one becomes zeros when wait is called
    try {
      sync.wait();
      ADD_FAILURE() << "the step is void";
    } catch (const Error& error) {
      EXPECT_EQ(error.culprit(), 1);
      EXPECT_NE(std::string{error.what()}.find("on rank 1 parameter 0 'layer0' was ready twice"),
                std::string::npos)
          << error.what();
    }
    is_wrong = false;
    model.go_backward(sync, world.rank(), 1);
    sync.wait();
    EXPECT_TRUE(model.is_mean(3, 1)) << "the next step is good";
  });
}

/// After wait, ready is of the next step, however late that is waited for.
TEST(GradientRefusals, CountWhatIsReadyAfterWaitForTheNextStep) {
  train(kThreeRanks, [](Communicator& world) {
    Model model{{10, 20}};
    GradientSync sync{world, model.parameters()};
    for (int step = 0; step < 4; ++step) {
      model.fill(1, world.rank(), step);
      sync.ready(1);
      if (step == 2) {
        EXPECT_THROW(sync.wait(), Error) << "one is missing";
        model.fill(1, world.rank(), step);
        sync.ready(1);
      }
      model.fill(0, world.rank(), step);
      sync.ready(0);
      sync.wait();
      EXPECT_TRUE(model.is_mean(3, step)) << step;
    }
  });
}

/// Steps are counted by calls of wait: the rank that made one less is missed in the last one.
TEST(GradientRefusals, EndWithARankThatHasSkippedAStep) {
  std::latch failed{2};
  const auto outcomes = in_world(kThreeRanks, [&failed](Communicator& world) {
    Model model{{1000}};
    GradientSync sync{world, model.parameters(), {.timeout = std::chrono::milliseconds{1500}}};
    for (int step = 0; step < 3; ++step) {
      if (world.rank() == 2 && step == 1) continue;
      model.go_backward(sync, world.rank(), step);
      if (world.rank() != 2 && step == 2) {
        EXPECT_THROW(sync.wait(), Error);
        failed.count_down();
      } else {
        EXPECT_NO_THROW(sync.wait()) << step;
      }
    }
    if (world.rank() == 2) failed.wait();
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.text();
}

}  // namespace
}  // namespace tutti::test
