// Steps that are void, uneven, or of several groups.
#include <atomic>
#include <limits>
#include <thread>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const Setting kThree{3, "auto", 1};

/// Runs a step that is void on all ranks, and a good one after it.
void expect_void(const GradientOptions& options, const std::string& words,
                 const std::function<void(GradientSync&, Model&, Rank)>& go_wrong) {
  train(kThree, [&](Communicator& world) {
    Model model{{100, 200, 300}};
    GradientSync sync{world, model.parameters(), options};
    go_wrong(sync, model, world.rank());
    try {
      sync.wait();
      ADD_FAILURE() << "the step is void";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
    model.go_backward(sync, world.rank(), 4);
    sync.wait();
    EXPECT_TRUE(model.is_mean(3, 4)) << "the next step is good";
  });
}

/// Waiting for a rank that computes for longer is no communication. That rank is late before its
/// gradients are ready, so that buckets are under way elsewhere, or after that. Where the machine
/// does other things a step may take longer than it should, but not all of them.
TEST(GradientSteps, TellWaitingFromCommunication) {
  constexpr milliseconds kLate{100};
  constexpr int kTries = 50;
  for (const bool is_late_at_first : {true, false}) {
    std::atomic<int> waiting = 0;
    bool is_told = false;
    train(kThree, [&](Communicator& world) {
      Model model{{100, 200, 300}};
      GradientSync sync{world, model.parameters()};
      const bool is_late = world.rank() == 2;
      const auto be_late = [&](int step) {
        while (waiting < 2 * (step + 1)) std::this_thread::yield();
        std::this_thread::sleep_for(kLate);
      };
      for (int step = 0, good = 0; step < kTries && good == 0; ++step) {
        if (is_late && is_late_at_first) be_late(step);
        model.go_backward(sync, world.rank(), step);
        if (is_late && !is_late_at_first) be_late(step);
        const Clock::time_point begin = Clock::now();
        if (!is_late) ++waiting;
        const StepReport& report = sync.wait();
        EXPECT_LE(report.exposed + report.waiting, Clock::now() - begin);
        EXPECT_LE(report.waiting, report.skew);
        EXPECT_GE(report.communicating, Duration{0});
        const bool is_good =
            report.last == 2 && report.skew >= kLate / 2 && report.exposed < kLate / 2 &&
            report.communicating < kLate / 2 &&
            (is_late ? report.waiting == Duration{0} : report.waiting >= kLate / 2);
        good = world.all_reduce(is_good ? 1 : 0, min);
        if (is_late) is_told = good != 0;
      }
    });
    EXPECT_TRUE(is_told) << is_late_at_first;
  }
}

TEST(GradientSteps, AreVoidWhereOneIsReadyTwice) {
  expect_void({}, "on rank 1 parameter 2 'layer2' was ready twice",
              [](GradientSync& sync, Model& model, Rank rank) {
                model.go_backward(sync, rank, 0);
                if (rank == 1) sync.ready(2);
              });
}

TEST(GradientSteps, AreVoidWhereOneIsUnknown) {
  expect_void({}, "on rank 2 there is no parameter 17",
              [](GradientSync& sync, Model& model, Rank rank) {
                model.go_backward(sync, rank, 0);
                if (rank == 2) sync.ready(17);
              });
}

TEST(GradientSteps, AreVoidWhereOneIsMissing) {
  expect_void({}, "on rank 0 parameter 1 'layer1' was not ready",
              [](GradientSync& sync, Model&, Rank rank) {
                for (std::size_t i = 0; i < 3; ++i)
                  if (rank != 0 || i != 1) sync.ready(i);
              });
}

TEST(GradientSteps, AreVoidWhereOneIsNoNumber) {
  expect_void({.check_finite = true}, "1 reduced gradients are infinite or no numbers",
              [](GradientSync& sync, Model& model, Rank rank) {
                for (std::size_t i = 0; i < 3; ++i) {
                  model.fill(i, rank, 0);
                  if (rank == 2 && i == 1)
                    model.gradients[1][5] = std::numeric_limits<float>::quiet_NaN();
                  sync.ready(i);
                }
              });
}

TEST(GradientSteps, AreVoidWhereACallbackThrows) {
  std::atomic<int> calls{0};
  expect_void({.on_bucket =
                   [&](const ReducedBucket&) {
                     if (++calls == 1) throw std::runtime_error{"no more"};
                   }},
              "on_bucket threw: no more", [](GradientSync& sync, Model& model, Rank rank) {
                model.go_backward(sync, rank, 0);
              });
}

TEST(GradientSteps, CountMissingGradientsAsZeros) {
  for (const UnusedGradients unused : {UnusedGradients::zeros, UnusedGradients::detect})
    train(kThree, [&](Communicator& world) {
      Model model{{10, 10, 10}};
      GradientSync sync{world, model.parameters(), {.unused = unused}};
      for (int step = 0; step < 3; ++step) {
        for (auto& gradient : model.gradients) std::ranges::fill(gradient, 3.0F);
        sync.ready(0);
        if (world.rank() == 1) sync.ready(1);  // and no rank has the third
        sync.wait();
        EXPECT_FLOAT_EQ(model.gradients[0][9], 3);
        EXPECT_FLOAT_EQ(model.gradients[1][9], 1);
        EXPECT_FLOAT_EQ(model.gradients[2][9], unused == UnusedGradients::detect ? 3.0F : 0.0F);
      }
    });
}

TEST(GradientSteps, MayBeMoreOnSomeRanks) {
  train(kThree, [](Communicator& world) {
    Model model{{100, 50}};
    GradientSync sync{world, model.parameters()};
    const int steps = 2 + 2 * (2 - world.rank());  // 6, 4, 2
    for (int step = 0; step < steps; ++step) {
      model.go_backward(sync, world.rank(), step);
      const int active = step < 2 ? 3 : step < 4 ? 2 : 1;
      EXPECT_EQ(sync.wait().active, active);
      EXPECT_TRUE(model.is_mean(active, step)) << "step " << step << " of " << active;
    }
    EXPECT_EQ(sync.join(), static_cast<std::uint64_t>(6 - steps));
  });
}

/// In whichever order buckets start, and whichever bucket it is: the first or the last.
TEST(GradientSteps, AreVoidWhereARankJoinsWithGradientsThatAreReady) {
  for (const GradientOrder order :
       {GradientOrder::reversed, GradientOrder::observed, GradientOrder::negotiated})
    for (const std::size_t which : {0U, 2U})
      train(kThree, [&](Communicator& world) {
        Model model{{100, 200, 300}};
        GradientSync sync{world, model.parameters(), {.bucket_bytes = 0, .order = order}};
        const auto expect_error = [&](const auto& call) {
          try {
            call();
            ADD_FAILURE() << "the step is void";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_EQ(error.culprit(), 1);
            EXPECT_NE(
                std::string{error.what()}.find("on rank 1 parameter " + std::to_string(which)),
                std::string::npos)
                << error.what();
          }
        };
        if (world.rank() == 1) {
          model.fill(which, 1, 0);
          sync.ready(which);
          expect_error([&] { sync.join(); });
        } else {
          model.go_backward(sync, world.rank(), 0);
          expect_error([&] { sync.wait(); });
        }
        model.go_backward(sync, world.rank(), 1);
        EXPECT_EQ(sync.wait().active, 3);
        EXPECT_TRUE(model.is_mean(3, 1)) << "the next step is good";
        EXPECT_EQ(sync.join(), 0U);
      });
}

TEST(GradientSteps, ReduceEachParameterInItsGroup) {
  train({4, "auto", 1}, [](Communicator& world) {
    Communicator half = world.split(world.rank() % 2);  // 0 2 and 1 3
    std::vector<float> shared(64), own(32);
    std::vector<Parameter> parameters{Parameter::of("shared", shared), Parameter::of("own", own)};
    parameters[1].group = 1;
    GradientSync sync{world, parameters, {.bucket_bytes = 0, .groups = {&half}}};
    for (int step = 0; step < 4; ++step) {
      std::ranges::fill(shared, static_cast<float>(world.rank()));
      std::ranges::fill(own, static_cast<float>(world.rank()));
      sync.ready(1);
      sync.ready(0);
      sync.wait();
      EXPECT_FLOAT_EQ(shared[5], 1.5F);
      EXPECT_FLOAT_EQ(own[5], world.rank() % 2 == 0 ? 1.0F : 2.0F);
    }
  });
}

TEST(GradientSteps, NeedEqualParameters) {
  const auto expect_odd = [](const std::string& words,
                             const std::function<void(std::vector<Parameter>&)>& change) {
    train(kThree, [&](Communicator& world) {
      Model model{{10, 20, 30}};
      std::vector<Parameter> parameters = model.parameters();
      if (world.rank() == 1) change(parameters);
      try {
        const GradientSync sync{world, parameters};
        ADD_FAILURE() << "ranks differ";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(error.culprit(), 1);
        EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
      }
    });
  };
  expect_odd("rank 1 has parameter 2 'layer2': 29 f32", [](auto& all) { all[2].count = 29; });
  expect_odd("rank 1 has parameter 0 'other': 10 f32", [](auto& all) { all[0].name = "other"; });
  expect_odd("rank 1 has no more parameters", [](auto& all) { all.pop_back(); });
  expect_odd("is of i32; expected f16, bf16, f32 or f64",
             [](auto& all) { all[1].type = Datatype::i32; });
}

TEST(GradientSteps, EndWithARankThatStaysAway) {
  const auto outcomes = in_world(kThree, [](Communicator& world) {
    Model model{{1000}};
    GradientSync sync{world, model.parameters(), {.timeout = std::chrono::milliseconds{300}}};
    if (world.rank() == 2) return std::this_thread::sleep_for(std::chrono::seconds{2});
    model.go_backward(sync, world.rank(), 0);
    EXPECT_THROW(sync.wait(), Error);
    EXPECT_THROW(sync.wait(), Error) << "it stays failed";
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome.error) << outcome.text();
}

}  // namespace
}  // namespace tutti::test
