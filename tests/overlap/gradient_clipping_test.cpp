// GradientOptions::max_norm: gradients whose norm is larger are multiplied before anyone uses them;
// and on_shard, which waits until ranks know that a step is good.
#include <atomic>
#include <cmath>
#include <limits>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const std::vector<std::size_t> kClippedSizes{500, 0, 3000, 7, 1200};
constexpr double kMostNorm = 100;

class GradientClipping : public testing::TestWithParam<Setting> {};

/// The 2-norm of what ranks come to without clipping.
double norm_of(int ranks, int active, int step, bool average) {
  double squares = 0;
  for (std::size_t i = 0; i < kClippedSizes.size(); ++i)
    for (std::size_t e = 0; e < kClippedSizes[i]; ++e) {
      const double x = static_cast<double>(Model::mean(i, e, active, step)) * (average ? 1 : ranks);
      squares += x * x;
    }
  return std::sqrt(squares);
}

/// Gradients of a model, wherever they lie, and their reduction.
struct Clipped {
  Model model{kClippedSizes};
  std::vector<float> flat = std::vector<float>(4707);
  std::vector<Parameter> parameters{};

  explicit Clipped(GradientStorage storage) {
    parameters = model.parameters();
    std::size_t first = 0;
    for (Parameter& parameter : parameters) {
      if (storage == GradientStorage::flat) parameter.data = flat.data() + first;
      if (storage == GradientStorage::views) parameter.data = nullptr;
      first += parameter.count;
    }
  }
  float* at(GradientSync& sync, std::size_t i) {
    void* const view = sync.view(i);
    return static_cast<float*>(view == nullptr ? parameters[i].data : view);
  }
  void go_backward(GradientSync& sync, Rank rank, int step) {
    for (std::size_t i = kClippedSizes.size(); i-- > 0;) {
      model.fill(i, rank, step);
      if (kClippedSizes[i] > 0)
        std::memcpy(at(sync, i), model.gradients[i].data(), kClippedSizes[i] * 4);
      sync.ready(i);
    }
  }
  /// Expects the mean of the first ranks times a factor, with the same bits on all ranks.
  void expect(Communicator& world, GradientSync& sync, int active, int step, double factor) {
    for (std::size_t i = 0; i < kClippedSizes.size(); ++i) {
      std::vector<float> first(at(sync, i), at(sync, i) + kClippedSizes[i]);
      for (std::size_t e = 0; e < kClippedSizes[i]; ++e) {
        const double wanted = static_cast<double>(Model::mean(i, e, active, step)) * factor;
        ASSERT_NEAR(first[e], wanted, 1e-6 * std::abs(wanted)) << i << " " << e;
      }
      const std::vector<float> own = first;
      world.broadcast(first, 0);
      EXPECT_EQ(own, first) << "all ranks have the same bits";
    }
  }
};

TEST_P(GradientClipping, BoundsTheNormWhereverGradientsLie) {
  for (const auto storage :
       {GradientStorage::copies, GradientStorage::views, GradientStorage::flat})
    for (const auto order : {GradientOrder::automatic, GradientOrder::negotiated})
      for (const bool average : {true, false})
        for (const std::size_t bucket_bytes : {std::size_t{0}, GradientOptions::kFlat})
          train(GetParam(), [&](Communicator& world) {
            Clipped own{storage};
            GradientSync sync{world,
                              own.parameters,
                              {.bucket_bytes = bucket_bytes,
                               .order = order,
                               .storage = storage,
                               .average = average,
                               .max_norm = kMostNorm,
                               .verify_every = 1}};
            for (int step = 0; step < 3; ++step) {
              own.go_backward(sync, world.rank(), step);
              const StepReport& report = sync.wait();
              const double norm = norm_of(world.size(), world.size(), step, average);
              ASSERT_GT(norm, kMostNorm);
              EXPECT_NEAR(report.norm, norm, 1e-6 * norm) << "the norm before";
              own.expect(world, sync, world.size(), step,
                         (average ? 1 : world.size()) * kMostNorm / norm);
            }
          });
}

TEST_P(GradientClipping, LeavesSmallerGradientsAsTheyAre) {
  train(GetParam(), [](Communicator& world) {
    Model model{kClippedSizes};
    GradientSync sync{world, model.parameters(), {.max_norm = 1e6}};
    for (int step = 0; step < 3; ++step) {
      model.go_backward(sync, world.rank(), step);
      sync.wait();
      EXPECT_TRUE(model.is_mean(world.size(), step));
    }
  });
}

TEST_P(GradientClipping, TakesTheMeanOfRanksThatTakePart) {
  if (GetParam().n == 1) return;
  train(GetParam(), [](Communicator& world) {
    Clipped own{GradientStorage::copies};
    GradientSync sync{world, own.parameters, {.max_norm = kMostNorm}};
    const int active = world.size() - 1;
    if (world.rank() == active) {
      EXPECT_EQ(sync.join(), 2U);
      return;
    }
    for (int step = 0; step < 2; ++step) {
      own.go_backward(sync, world.rank(), step);
      const StepReport& report = sync.wait();
      const double norm = norm_of(world.size(), active, step, true);
      EXPECT_NEAR(report.norm, norm, 1e-6 * norm);
      for (std::size_t i = 0; i < kClippedSizes.size(); ++i)
        for (std::size_t e = 0; e < kClippedSizes[i]; ++e) {
          const double wanted =
              static_cast<double>(Model::mean(i, e, active, step)) * kMostNorm / norm;
          ASSERT_NEAR(own.model.gradients[i][e], wanted, 1e-5 * std::abs(wanted) + 1e-12);
        }
    }
    sync.join();
  });
}

/// A callback gets clipped gradients, and whether its bucket is the last.
TEST_P(GradientClipping, ComesBeforeOnBucket) {
  train(GetParam(), [](Communicator& world) {
    Clipped own{GradientStorage::copies};
    std::size_t seen = 0;
    int step = 0;
    const double size = world.size();
    GradientSync sync{
        world,
        own.parameters,
        {.bucket_bytes = 0, .max_norm = kMostNorm, .on_bucket = [&](const ReducedBucket& bucket) {
           const double factor =
               kMostNorm / norm_of(static_cast<int>(size), world.size(), step, true);
           for (const std::size_t i : bucket.parameters)
             for (std::size_t e = 0; e < kClippedSizes[i]; ++e) {
               const double wanted =
                   static_cast<double>(Model::mean(i, e, world.size(), step)) * factor;
               ASSERT_NEAR(own.model.gradients[i][e], wanted, 1e-6 * std::abs(wanted));
             }
           EXPECT_EQ(bucket.is_last, ++seen == kClippedSizes.size());
         }}};
    for (; step < 3; ++step) {
      seen = 0;
      own.go_backward(sync, world.rank(), step);
      sync.wait();
      EXPECT_EQ(seen, kClippedSizes.size());
    }
  });
}

TEST_P(GradientClipping, GoesWithCompressionAndUnusedGradients) {
  train(GetParam(), [](Communicator& world) {
    Clipped own{GradientStorage::copies};
    GradientSync sync{world, own.parameters, {.max_norm = kMostNorm, .compression = "bf16"}};
    Model model{kClippedSizes};
    GradientSync detecting{
        world, model.parameters(), {.unused = UnusedGradients::detect, .max_norm = kMostNorm}};
    for (int step = 0; step < 3; ++step) {
      own.go_backward(sync, world.rank(), step);
      sync.wait();
      double squares = 0;
      for (const auto& gradient : own.model.gradients)
        for (const float x : gradient) squares += static_cast<double>(x) * static_cast<double>(x);
      EXPECT_NEAR(std::sqrt(squares), kMostNorm, 1e-3);
      model.fill(0, world.rank(), step);
      std::ranges::fill(model.gradients[2], 7.0F);
      detecting.ready(0);
      const double norm = detecting.wait().norm;
      ASSERT_GT(norm, kMostNorm);
      EXPECT_NEAR(model.gradients[0][1],
                  static_cast<double>(Model::mean(0, 1, world.size(), step)) * kMostNorm / norm,
                  1e-5);
      EXPECT_EQ(model.gradients[2][0], 7.0F) << "no rank has used it";
    }
  });
}

/// The parts of a divided model count once each, whichever ranks have them.
TEST(GradientGroups, HaveOneNorm) {
  train({4, "auto", 1}, [](Communicator& world) {
    Communicator half = world.split(world.rank() % 2);
    std::vector<float> all(100, 3.0F);
    std::vector<float> part(50, static_cast<float>(1 + world.rank() % 2));
    std::vector<Parameter> parameters{Parameter::of("all", all), Parameter::of("part", part)};
    parameters[1].group = 1;
    std::vector<float> seen;
    for (const bool shards : {false, true}) {
      std::ranges::fill(all, 3.0F);
      std::ranges::fill(part, static_cast<float>(1 + world.rank() % 2));
      seen.clear();
      GradientOptions options{.max_norm = 2, .groups = {&half}};
      if (shards)
        options.on_shard = [&](std::span<const ParameterShard> parts) {
          for (const ParameterShard& shard : parts)
            seen.push_back(*static_cast<const float*>(shard.data));
        };
      GradientSync sync{world, parameters, options};
      sync.ready(1);
      sync.ready(0);
      const double norm = std::sqrt(100 * 9 + 50 * 1 + 50 * 4);
      EXPECT_NEAR(sync.wait().norm, norm, 1e-9);
      EXPECT_NEAR(all[99], 3 * 2 / norm, 1e-6);
      EXPECT_NEAR(part[49], (1 + world.rank() % 2) * 2 / norm, 1e-6);
      EXPECT_EQ(seen.size(), shards ? 2U : 0U);
    }
  });
}

/// Descent on shards: all of them get gradients that are clipped, after the last bucket.
TEST_P(GradientClipping, ComesBeforeOnShard) {
  for (const auto storage : {GradientStorage::copies, GradientStorage::views})
    for (const bool average : {true, false})
      train(GetParam(), [&](Communicator& world) {
        Clipped own{storage};
        Model weights{kClippedSizes};
        for (std::size_t i = 0; i < kClippedSizes.size(); ++i)
          own.parameters[i].result = weights.gradients[i].data();
        std::atomic<bool> may_be_called{false};
        std::size_t owned = 0;
        GradientSync sync{world,
                          own.parameters,
                          {.bucket_bytes = 0,
                           .storage = storage,
                           .average = average,
                           .check_finite = true,
                           .max_norm = kMostNorm,
                           .verify_every = 1,
                           .in_flight = 1,
                           .on_shard = [&](std::span<const ParameterShard> parts) {
                             EXPECT_TRUE(may_be_called) << "not all gradients are known";
                             for (const ParameterShard& part : parts) {
                               owned += part.count;
                               auto* const values = static_cast<float*>(part.data);
                               for (std::size_t e = 0; e < part.count; ++e)
                                 values[e] =
                                     weights.gradients[part.parameter][part.first + e] - values[e];
                             }
                           }}};
        Model expected{kClippedSizes};
        for (int step = 0; step < 3; ++step) {
          may_be_called = false;
          owned = 0;
          for (std::size_t i = kClippedSizes.size(); i-- > 0;) {
            own.model.fill(i, world.rank(), step);
            if (kClippedSizes[i] > 0)
              std::memcpy(own.at(sync, i), own.model.gradients[i].data(), kClippedSizes[i] * 4);
            if (i == 0) may_be_called = true;
            sync.ready(i);
          }
          const StepReport& report = sync.wait();
          const double norm = norm_of(world.size(), world.size(), step, average);
          EXPECT_NEAR(report.norm, norm, 1e-6 * norm);
          for (std::size_t i = 0; i < kClippedSizes.size(); ++i)
            for (std::size_t e = 0; e < kClippedSizes[i]; ++e) {
              float& weight = expected.gradients[i][e];
              weight -=
                  static_cast<float>(static_cast<double>(Model::mean(i, e, world.size(), step)) *
                                     (average ? 1 : world.size()) * kMostNorm / norm);
              ASSERT_NEAR(weights.gradients[i][e], weight, 1e-5F);
            }
          const auto all = world.all_reduce(owned);
          EXPECT_EQ(all, 4707U) << "each element has one owner";
          std::vector<float> first = weights.gradients[2];
          world.broadcast(first, 0);
          EXPECT_EQ(first, weights.gradients[2]) << "all ranks have the same bits";
        }
      });
}

/// A step that is void updates nothing: neither where a gradient is infinite in any of the buckets,
/// nor where one is missing.
TEST_P(GradientClipping, NeverCallsOnShardInAVoidStep) {
  for (const double max_norm : {0.0, kMostNorm})
    train(GetParam(), [&](Communicator& world) {
      Model model{kClippedSizes};
      Model weights{kClippedSizes};
      for (auto& weight : weights.gradients) std::ranges::fill(weight, 5.0F);
      std::vector<Parameter> parameters = model.parameters();
      for (std::size_t i = 0; i < kClippedSizes.size(); ++i)
        parameters[i].result = weights.gradients[i].data();
      int calls = 0;
      GradientSync sync{world,
                        parameters,
                        {.bucket_bytes = 0,
                         .check_finite = true,
                         .max_norm = max_norm,
                         .on_shard = [&](std::span<const ParameterShard> parts) {
                           ++calls;
                           for (const ParameterShard& part : parts)
                             std::fill_n(static_cast<float*>(part.data), part.count, 6.0F);
                         }}};
      for (int step = 0; step < 6; ++step) {
        const bool is_infinite = step < 4 && step % 2 == 0;  // in the first bucket, in the last one
        const bool is_missing = step == 4;
        for (std::size_t i = kClippedSizes.size(); i-- > 0;) {
          model.fill(i, world.rank(), step);
          if (is_infinite && world.rank() == 0 && i == (step == 0 ? 4U : 0U))
            model.gradients[i].back() = std::numeric_limits<float>::infinity();
          if (is_missing && world.rank() == world.size() - 1 && i == 2) continue;
          sync.ready(i);
        }
        calls = 0;
        if (is_infinite || is_missing) {
          EXPECT_THROW(sync.wait(), Error) << step;
          EXPECT_EQ(calls, 0) << step;
        } else {
          EXPECT_NO_THROW(sync.wait()) << step;
          EXPECT_EQ(calls, static_cast<int>(kClippedSizes.size())) << step;
        }
        for (std::size_t i = 0; i < kClippedSizes.size(); ++i)
          for (const float weight : weights.gradients[i])
            ASSERT_EQ(weight, step == 0 ? 5.0F : 6.0F) << step << " " << i;
      }
    });
}

TEST(GradientNorms, AreNumbers) {
  train({2, "auto", 1}, [](Communicator& world) {
    Model model{{10}};
    for (const double max_norm :
         {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      EXPECT_THROW((GradientSync{world, model.parameters(), {.max_norm = max_norm}}), Error);
    EXPECT_NO_THROW(world.barrier());
    GradientSync sync{world, model.parameters(), {.max_norm = 1}};
    model.fill(0, world.rank(), 0);
    model.gradients[0][3] = std::numeric_limits<float>::quiet_NaN();
    sync.ready(0);
    EXPECT_TRUE(std::isnan(sync.wait().norm)) << "without check_finite";
    EXPECT_EQ(model.gradients[0][1], Model::mean(0, 1, 2, 0));
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, GradientClipping,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                           Setting{3, "auto", 1}, Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
