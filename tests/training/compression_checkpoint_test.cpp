// Checkpoints with what compression has left out.
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include <tutti/training.hpp>

#include "checkpoints.hpp"
#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

/// Gradients that codecs cannot keep whole.
struct NoisyModel {
  std::vector<std::vector<float>> gradients{};
  std::vector<Parameter> parameters{};

  explicit NoisyModel(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) gradients.emplace_back(size);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      parameters.push_back(Parameter::of("layer" + std::to_string(i), gradients[i]));
      parameters[i].rows = sizes[i] % 20 == 0 ? 20 : 0;
    }
  }
  void fill(Rank rank, int step) {
    unsigned state =
        12345U + 77U * static_cast<unsigned>(rank) + 991U * static_cast<unsigned>(step);
    for (auto& gradient : gradients)
      for (float& x : gradient) {
        state = state * 1664525U + 1013904223U;
        x = static_cast<float>(state >> 8) / (1U << 23) - 1;
      }
  }
  void take_step(GradientSync& sync) {
    for (const std::size_t i : {1U, 3U, 0U, 2U}) sync.ready(i);  // which is observed
    sync.wait();
  }
};

const std::vector<std::size_t> kNoisySizes{400, 7, 1000, 240};

TEST(CompressionCheckpoints, GoOnWithTheSameBits) {
  constexpr std::array kStops{1, 2, 5};
  for (const int ranks : {1, 2, 3})
    for (const char* const compression : {"one_bit:32", "power_sgd:2", "top_k:0.1"}) {
      const TemporaryFolder folder;
      const auto file_of = [&](int stop) { return folder / ("model" + std::to_string(stop)); };
      const GradientOptions options{
          .bucket_bytes = 2000, .compression = compression, .compression_after = 2};
      std::vector<std::vector<std::vector<float>>> expected(8);
      train(ranks_of(ranks), [&](Communicator& world) {
        NoisyModel model{kNoisySizes};
        GradientSync sync{world, model.parameters, options};
        for (int step = 0; step < 8; ++step) {
          if (std::ranges::find(kStops, step) != kStops.end())
            save_checkpoint(world, file_of(step), {}, sync);
          model.fill(world.rank(), step);
          model.take_step(sync);
          if (world.rank() == 0) expected[static_cast<std::size_t>(step)] = model.gradients;
        }
      });
      for (const int stop : kStops)
        train(ranks_of(ranks), [&](Communicator& world) {
          NoisyModel model{kNoisySizes};
          GradientSync sync{world, model.parameters, options};
          static_cast<void>(load_checkpoint(world, file_of(stop), {}, sync));
          for (int step = stop; step < 8; ++step) {
            model.fill(world.rank(), step);
            model.take_step(sync);
            EXPECT_EQ(model.gradients, expected[static_cast<std::size_t>(step)])
                << compression << " on " << ranks << ", stopped at " << stop << ", step " << step;
          }
        });
    }
}

/// Any number of ranks adds the parts that were left out: in the mean, or in the sum.
TEST(CompressionCheckpoints, KeepWhatWasLeftOutAtOtherNumbersOfRanks) {
  for (const bool average : {true, false})
    for (const int to : {1, 2, 4}) {
      const TemporaryFolder folder;
      const GradientOptions options{.average = average, .compression = "top_k:0.1"};
      std::vector<std::vector<float>> left_out;
      constexpr int kFrom = 3;
      train(ranks_of(kFrom), [&](Communicator& world) {
        NoisyModel model{kNoisySizes};
        GradientSync sync{world, model.parameters, options};
        std::vector<std::vector<float>> all;
        for (int step = 0; step < 2; ++step) {  // the first of which is not compressed
          model.fill(world.rank(), step);
          all = model.gradients;
          for (const std::size_t i : {1U, 3U, 0U, 2U}) sync.ready(i);
          if (step == 0) sync.wait();
        }
        sync.wait();
        for (auto& gradient : all) world.all_reduce(gradient);
        for (std::size_t i = 0; i < all.size(); ++i)
          for (std::size_t e = 0; e < all[i].size(); ++e)
            all[i][e] = (average ? all[i][e] / kFrom : all[i][e]) - model.gradients[i][e];
        save_checkpoint(world, folder / "model", {}, sync);
        if (world.rank() == 0) left_out = all;
      });
      train(ranks_of(to), [&](Communicator& world) {
        NoisyModel model{kNoisySizes};
        NoisyModel sum{kNoisySizes};
        GradientSync sync{world, model.parameters, options};
        static_cast<void>(load_checkpoint(world, folder / "model", {}, sync));
        for (int step = 0; step < 11; ++step) {
          for (auto& gradient : model.gradients) std::ranges::fill(gradient, 0.0F);
          model.take_step(sync);
          for (std::size_t i = 0; i < kNoisySizes.size(); ++i)
            for (std::size_t e = 0; e < kNoisySizes[i]; ++e)
              sum.gradients[i][e] += model.gradients[i][e];
        }
        for (std::size_t i = 0; i < kNoisySizes.size(); ++i)
          for (std::size_t e = 0; e < kNoisySizes[i]; ++e)
            ASSERT_NEAR(sum.gradients[i][e], left_out[i][e], 1e-5F) << i << " " << e;
      });
    }
}

TEST(CompressionCheckpoints, BeginAnewWithAnotherCompression) {
  const TemporaryFolder folder;
  train({2, "auto", 1}, [&](Communicator& world) {
    NoisyModel model{kNoisySizes};
    GradientSync sync{world, model.parameters, {.compression = "power_sgd"}};
    for (int step = 0; step < 3; ++step) {
      model.fill(world.rank(), step);
      model.take_step(sync);
    }
    save_checkpoint(world, folder / "model", {}, sync);
    for (const char* const other : {"one_bit", "top_k:0.1", "power_sgd:3", ""}) {
      GradientSync next{world, model.parameters, {.compression = other}};
      static_cast<void>(load_checkpoint(world, folder / "model", {}, next));
      for (auto& gradient : model.gradients) std::ranges::fill(gradient, 0.0F);
      model.take_step(next);
      for (const auto& gradient : model.gradients)
        for (const float x : gradient) ASSERT_EQ(x, 0) << other;
    }
  });
}

TEST(CompressionCheckpoints, AreOfPeriodicSyncsToo) {
  const TemporaryFolder folder;
  train({3, "auto", 1}, [&](Communicator& world) {
    const PeriodicOptions options{.period = 2, .exchange = {.compression = "one_bit:16"}};
    std::vector<float> expected;
    for (const bool is_later : {false, true}) {
      std::vector<float> weights(300);
      const std::array arrays{Parameter::of("weights", weights)};
      PeriodicSync sync{world, arrays, options};
      std::vector<Parameter> all = sync.state();
      all.push_back(arrays[0]);
      if (is_later)
        static_cast<void>(load_checkpoint(world, folder / "model", all, sync.exchange()));
      for (int step = is_later ? 4 : 0; step < 10; ++step) {
        if (step == 4 && !is_later) save_checkpoint(world, folder / "model", all, sync.exchange());
        for (std::size_t i = 0; i < weights.size(); ++i)
          weights[i] +=
              static_cast<float>((static_cast<int>(i) * 7 + step * 3 + world.rank()) % 11);
        sync.step();
      }
      if (!is_later) expected = weights;
      EXPECT_EQ(weights, expected);
    }
  });
}

}  // namespace
}  // namespace tutti::test
