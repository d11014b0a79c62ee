// Ranks that train by themselves, and meet now and then.
#include <cmath>

#include <tutti/training/periodic_sync.hpp>

#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

class PeriodicSyncs : public testing::TestWithParam<Setting> {};

TEST_P(PeriodicSyncs, MakeWeightsTheMean) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> weights(1000, static_cast<float>(world.rank()));
    std::vector<double> others(7, 3);
    const std::vector arrays{Parameter::of("weights", weights), Parameter::of("others", others)};
    PeriodicSync sync{world, arrays, {.period = 3}};
    EXPECT_EQ(weights[999], 0) << "rank 0's";
    const auto rank = static_cast<float>(world.rank());
    const float mean = static_cast<float>(world.size() - 1) / 2;
    for (int round = 1; round <= 3; ++round)
      for (int step = 1; step <= 3; ++step) {
        for (float& x : weights) x += rank;
        EXPECT_EQ(sync.step(), step == 3);
        const float own = 3 * static_cast<float>(round - 1) * mean;
        EXPECT_FLOAT_EQ(weights[0], step < 3 ? own + static_cast<float>(step) * rank
                                             : 3 * static_cast<float>(round) * mean);
        EXPECT_DOUBLE_EQ(others[6], 3);
      }
    for (float& x : weights) x += rank;
    sync.exchange_now();
    EXPECT_FLOAT_EQ(weights[5], 10 * mean);
  });
}

/// Against the formula of descent with momentum, in double.
TEST_P(PeriodicSyncs, MoveWeightsAsTheOuterOptimizerSays) {
  for (const bool nesterov : {false, true})
    train(GetParam(), [nesterov](Communicator& world) {
      std::vector<double> weights(3, 1);
      const OuterOptimizer outer{.rate = 0.5, .momentum = 0.8, .nesterov = nesterov};
      PeriodicSync sync{
          world, std::vector{Parameter::of("w", weights)}, {.period = 2, .outer = outer}};
      double expected = 1;
      double momentum = 0;
      for (int round = 0; round < 5; ++round) {
        for (int step = 0; step < 2; ++step) {
          for (double& x : weights) x -= world.rank() + round;
          sync.step();
        }
        const double mean = (world.size() - 1) / 2.0;
        const double gradient = 2 * (mean + round);
        momentum = 0.8 * momentum + gradient;
        expected -= 0.5 * (nesterov ? gradient + 0.8 * momentum : momentum);
        ASSERT_NEAR(weights[2], expected, 1e-9);
      }
    });
}

/// Sum over ranks of |w - goal of the rank|^2 is least at the mean of goals.
TEST_P(PeriodicSyncs, ConvergeWithAndWithoutCompression) {
  // If movements of ranks only cancel each other, the parts that those two leave out stay as noise.
  struct Case {
    std::string compression;
    double margin;
  };
  for (const Case& c : std::vector<Case>{
           {"", 0.01}, {"bf16", 0.01}, {"int8", 0.01}, {"one_bit:32", 0.2}, {"top_k:0.2", 0.2}})
    train(GetParam(), [&](Communicator& world) {
      std::vector<float> weights(100);
      PeriodicOptions options{.period = 4, .outer = OuterOptimizer{.rate = 0.5, .momentum = 0.5}};
      options.exchange.compression = c.compression;
      PeriodicSync sync{world, std::vector{Parameter::of("w", weights)}, options};
      for (int step = 0; step < 800; ++step) {
        for (std::size_t i = 0; i < weights.size(); ++i)
          weights[i] -=
              0.02F * (weights[i] - static_cast<float>(world.rank()) - static_cast<float>(i) / 100);
        sync.step();
      }
      const float mean = static_cast<float>(world.size() - 1) / 2;
      for (std::size_t i = 0; i < weights.size(); ++i)
        ASSERT_NEAR(weights[i], mean + static_cast<float>(i) / 100, c.margin) << c.compression;
    });
}

TEST_P(PeriodicSyncs, GoOnFromTheirState) {
  train(GetParam(), [](Communicator& world) {
    const auto move = [&](std::vector<float>& weights, int step) {
      for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] += 0.1F * static_cast<float>(world.rank() + step) / static_cast<float>(i + 1);
    };
    const PeriodicOptions options{.outer = OuterOptimizer{}};
    std::vector<float> whole(10);
    PeriodicSync sync{world, std::vector{Parameter::of("w", whole)}, options};
    std::vector<float> parted;
    std::vector<std::vector<float>> saved;
    for (int step = 0; step < 6; ++step) {
      if (step == 3) {
        parted = whole;
        for (const Parameter& array : sync.state()) {
          const auto* const data = static_cast<const float*>(array.data);
          saved.emplace_back(data, data + array.count);
        }
      }
      move(whole, step);
      sync.step();
    }
    PeriodicSync second{world, std::vector{Parameter::of("w", parted)}, options};
    const std::vector<Parameter> state = second.state();
    ASSERT_EQ(state.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
      std::memcpy(state[i].data, saved[i].data(), saved[i].size() * sizeof(float));
    for (int step = 3; step < 6; ++step) {
      move(parted, step);
      second.step();
    }
    EXPECT_EQ(parted, whole);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, PeriodicSyncs,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                           Setting{3, "auto", 1}, Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

TEST(PeriodicOptions, MustBeEqualOnAllRanks) {
  train({3, "auto", 1}, [](Communicator& world) {
    std::vector<float> weights(1);
    const std::vector arrays{Parameter::of("w", weights)};
    const bool is_odd = world.rank() == 1;
    for (const PeriodicOptions& options :
         {PeriodicOptions{.period = is_odd ? 2 : 3}, PeriodicOptions{.period = is_odd ? 0 : 3},
          PeriodicOptions{.outer = OuterOptimizer{.rate = is_odd ? 0.5 : 0.6}}})
      EXPECT_THROW((PeriodicSync{world, arrays, options}), Error);
    EXPECT_NO_THROW(world.barrier());
  });
}

TEST(PeriodicOptions, MustBeRight) {
  train({1, "auto", 1}, [](Communicator& world) {
    std::vector<float> weights(1);
    const std::vector arrays{Parameter::of("w", weights)};
    for (const PeriodicOptions& options :
         {PeriodicOptions{.period = 0}, PeriodicOptions{.outer = OuterOptimizer{.rate = 0}},
          PeriodicOptions{.outer = OuterOptimizer{.momentum = 1}}})
      EXPECT_THROW((PeriodicSync{world, arrays, options}), Error);
  });
}

}  // namespace
}  // namespace tutti::test
